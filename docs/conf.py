"""How Sphinx builds the site and the manual pages from Markdown."""

from bridge import __version__

project = "plugin-bridge"
author = "The plugin-bridge authors"
version = release = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True

# What begins with two hyphens is an option, and stays one.
smartquotes = False

myst_enable_extensions = ["deflist"]
# Links to headings, as forges make them.
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"plugin-bridge {version}"
html_copy_source = False
html_show_sphinx = False

man_pages = [
    (f"man/{name}.{section}", name, about, "", section)
    for name, section, about in (
        ("plugin-bridge", 1, "does for a web page on this machine what a page cannot"),
        ("plugin.json", 5, "what a plugin for plugin-bridge says it is"),
        ("plugin.sig", 5, "an author's signature of a plugin for plugin-bridge"),
        (
            "plugin-bridge-protocol",
            7,
            "how a page speaks with the plugin-bridge daemon",
        ),
    )
]
man_show_urls = True
