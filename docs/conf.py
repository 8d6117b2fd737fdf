"""Sphinx configuration for the site and the manual pages."""

import sys
from pathlib import Path

from bridge import __version__

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

project = "plugin-bridge"
author = "The plugin-bridge authors"
version = release = __version__

extensions = ["myst_parser", "parts"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True

# Two hyphens start an option; Sphinx must not turn them into a dash.
smartquotes = False

myst_enable_extensions = ["deflist"]
# Anchors for headings, as git forges create them.
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"plugin-bridge {version}"
html_copy_source = False
html_show_sphinx = False

man_pages = [
    (f"man/{name}.{section}", name, about, "", section)
    for name, section, about in (
        ("plugin-bridge", 1, "daemon that installs plugins for a web page"),
        ("plugin-bridge-host", 5, "profile of a host application for plugin-bridge"),
        ("plugin.json", 5, "manifest of a plugin for plugin-bridge"),
        ("plugin.sig", 5, "signature of a plugin for plugin-bridge"),
        ("plugin-bridge-protocol", 7, "protocol between a page and plugin-bridge"),
    )
]
man_show_urls = True
