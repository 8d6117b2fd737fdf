"""
A Sphinx extension: fills in the parts of pages that come from the code.

In the Markdown, such a part is a line ``<!-- generated: NAME -->``, and the next one,
which says where a reader of the sources finds the same.
"""

import re
from collections.abc import Callable, Iterator
from inspect import isfunction, signature
from pathlib import Path
from typing import Final

import attacks
import manual
import protocolpage
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_PART: Final = re.compile(r"<!-- generated: (\w+) -->\n.*\n")

WRITERS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    name: written
    for module in (attacks, manual, protocolpage)
    for name, written in vars(module).items()
    if isfunction(written) and written.__module__ == module.__name__
    if not (name.startswith("_") or signature(written).parameters)
}
"""What writes each part, by the part's name: their functions without parameters."""


def filled(page: str) -> str:
    """Return the text of a page with its generated parts."""
    return _PART.sub(lambda found: "\n".join(WRITERS[found[1]]()) + "\n", page)


def read(_: Sphinx, __: str, source: list[str]) -> None:
    """Fill in a page that was read."""
    source[0] = filled(source[0])


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Read pages with parts at each build: the code may have changed."""
    return [
        name
        for name in env.found_docs
        if _PART.search(Path(env.doc2path(name)).read_text("utf-8"))
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension, as Sphinx asks for."""
    app.connect("source-read", read)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
