"""
A Sphinx extension: fills in the parts of pages that come from the code.

In the Markdown, such a part stands between ``<!-- generated: NAME -->`` and
``<!-- end -->``. What is between them there says where a reader of the sources finds
the same.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attacks
import manual
import protocolpage
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_PART: Final = re.compile(r"<!-- generated: (\w+) -->\n.*?<!-- end -->\n", re.DOTALL)

WRITERS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "bounds": protocolpage.bounds,
    "closed": protocolpage.closed,
    "codes": protocolpage.codes,
    "commands": manual.commands,
    "environment": manual.environment,
    "events": protocolpage.events,
    "files": manual.files,
    "frames": protocolpage.frames,
    "hosts": manual.hosts,
    "manifest": manual.manifest,
    "manifest_example": manual.manifest_example,
    "methods": protocolpage.methods,
    "objects": protocolpage.objects,
    "other_names": manual.other_names,
    "permissions": manual.permissions,
    "plugin_api": manual.plugin_api,
    "prefixes": protocolpage.prefixes,
    "profile": manual.profile,
    "profile_example": manual.profile_example,
    "tried": attacks.tried,
    "retries": protocolpage.retries,
    "rules": manual.rules,
    "shared": manual.shared,
    "signature": manual.signature,
    "signature_example": manual.signature_example,
    "takes": attacks.takes,
    "greedy": attacks.greedy,
}
"""The function that writes each part, by the part's name."""


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
