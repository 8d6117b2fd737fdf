"""
A Sphinx extension: changes what the theme writes until axe finds nothing wrong with it.

Each change is of text that the theme writes in every page. When a new release of the
theme writes something else, the change does nothing, and ``tests/docs/test_audit.py``
fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sphinx.application import Sphinx

CHANGES: Final = (
    # A heading of ARIA must have its level.
    (
        'class="caption" role="heading">',
        'class="caption" role="heading" aria-level="2">',
    ),
    # Of two landmarks of one kind, each must have a name.
    (
        '<aside class="sidebar-drawer">',
        '<aside class="sidebar-drawer" aria-label="Site">',
    ),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="This page">'),
    # What can be scrolled must be reachable from the keyboard.
    ("<pre><span></span>", '<pre tabindex="0"><span></span>'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    # Every page must have a heading of the first level.
    (
        '\n<div id="search-results"></div>',
        '\n<h1>Search</h1>\n<div id="search-results"></div>',
    ),
)
"""What is replaced, and by what; to replace it again would change nothing."""


def accessible(page: str) -> str:
    """
    Return the page with all changes.

    :param page: The HTML of a whole page.
    """
    for written, better in CHANGES:
        if better not in page:
            page = page.replace(written, better)
    return page


def finish(app: Sphinx, error: Exception | None) -> None:
    """Change every page that was built."""
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        before = path.read_text("utf-8")
        after = accessible(before)
        if after != before:
            path.write_text(after, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension, as Sphinx asks for."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
