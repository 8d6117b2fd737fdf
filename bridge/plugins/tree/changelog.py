"""The part of a plugin's ``CHANGELOG.md`` that an update is about."""

from __future__ import annotations

import re
from typing import Final

from ...protocol.limits import CHANGELOG_BYTES, CHANGELOG_CHARACTERS
from ...protocol.text import visible
from .tree import Tree
from .versions import is_lower, is_version

CHANGELOG_FILE: Final = "CHANGELOG.md"

# "## [1.2.0] - 2024-01-31", "# v1.2.0", "## Version 1.2.0".
_HEADING: Final = re.compile(r"(#{1,3})[ \t]+(?P<text>\S.*)")
_VERSION: Final = re.compile(
    r"(?:version[ \t]+)?\[?v?(?P<version>[0-9]+\.[0-9]+\.[0-9]+[^\s\]:)]*)",
    re.IGNORECASE,
)


def read_changelog(tree: Tree, version: str, since: str) -> str:
    """
    Return the part of a changelog that is about the versions of an update.

    :param version: The tree's own version.
    :param since: The installed version; its section and older ones are left out.
    :return: Lines without control characters, at most ``CHANGELOG_CHARACTERS``; empty
        when there is no such file, or nothing in it about these versions.
    """
    content = tree.files.get(CHANGELOG_FILE, b"")
    if len(content) > CHANGELOG_BYTES:
        return ""
    return sections(content.decode("utf-8", "replace"), version, since)


def sections(text: str, version: str, since: str) -> str:
    """
    Pick the sections of the versions after ``since``, up to ``version``.

    See ``read_changelog``.  A section starts with a heading that begins with a
    version, and ends at the next such heading.
    """
    kept: list[str] = []
    wanted = False
    for line in text.splitlines():
        found = _version_of(line)
        if found is not None:
            wanted = is_lower(since, found) and not is_lower(version, found)
        if wanted:
            kept.append(visible(line.replace("\t", "    ")).rstrip())
    return "\n".join(kept).strip()[:CHANGELOG_CHARACTERS]


def _version_of(line: str) -> str | None:
    """Return the version that a heading begins with."""
    heading = _HEADING.fullmatch(line)
    found = heading and _VERSION.match(heading["text"])
    if not found or not is_version(found["version"]):
        return None
    return found["version"]
