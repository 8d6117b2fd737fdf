"""What a plugin shows of itself before it runs: its README, icon and change log."""

from __future__ import annotations

import base64
import re
from typing import Final

from ...classes import frozen
from ...protocol import limits
from ...protocol.text import visible
from .tree import Tree
from .versions import is_lower, is_version

README_FILE: Final = "README.md"
ICON_FILE: Final = "icon.png"

_MOST_BYTES: Final = 4
"""Of a character, in UTF-8."""
# The signature, and the first chunk: its length, its name, width and height.
_PNG: Final = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_ANIMATED: Final = b"acTL"


@frozen
class About:
    """
    What is in a plugin's tree for people, signed with it.

    :ivar readme: The beginning of ``README.md``, without control characters; empty when
        there is none. Plain text of others: never to be shown as HTML.
    :ivar icon: ``icon.png`` in base64, at most 512 pixels wide and high and 64 KiB;
        empty when there is none, or another image.
    """

    readme: str = ""
    icon: str = ""


def read_about(tree: Tree) -> About:
    """Read what a tree shows of itself."""
    content = tree.files.get(README_FILE, b"")[: limits.README_CHARACTERS * _MOST_BYTES]
    lines = content.decode("utf-8-sig", "replace").splitlines()
    shown = "\n".join(visible(line.replace("\t", "    ")).rstrip() for line in lines)
    icon = tree.files.get(ICON_FILE, b"")
    return About(
        shown.strip()[: limits.README_CHARACTERS],
        base64.b64encode(icon).decode() if _is_icon(icon) else "",
    )


def icon_note(tree: Tree) -> str:
    """Return why the icon of a tree is not shown; empty if it is, or there is none."""
    content = tree.files.get(ICON_FILE)
    if content is None or _is_icon(content):
        return ""
    edge = limits.PLUGIN_ICON_PIXELS
    return (
        f"{ICON_FILE} is not shown: it must be a PNG that stands still, of at most "
        f"{edge} by {edge} pixels and {limits.PLUGIN_ICON_BYTES:,} bytes"
    )


def _is_icon(content: bytes) -> bool:
    """Whether it says of itself that it is a small PNG that stands still."""
    width, height = (
        int.from_bytes(content[at : at + 4], "big") for at in (len(_PNG), len(_PNG) + 4)
    )
    return (
        content.startswith(_PNG)
        and len(content) <= limits.PLUGIN_ICON_BYTES
        and 0 < width <= limits.PLUGIN_ICON_PIXELS
        and 0 < height <= limits.PLUGIN_ICON_PIXELS
        and _ANIMATED not in content
    )


CHANGELOG_FILE: Final = "CHANGELOG.md"

# "## [1.2.0] - 2024-01-31", "# v1.2.0, new", "## Release 1.2.0", "## **1.2.0**".
_HEADING: Final = re.compile(r"(#{1,3})[ \t]+(?P<text>\S.*)")
_VERSION: Final = re.compile(
    r"(?:\*\*)?(?:(?:version|release)[ \t]+)?\[?v?"
    r"(?P<version>[0-9]+\.[0-9]+\.[0-9]+[^\s\]:),;*]*)",
    re.IGNORECASE,
)


def read_changelog(tree: Tree, version: str, since: str) -> str:
    """
    Return the part of a changelog that is about the versions of an update.

    A section starts with a heading that begins with a version, and ends at the next
    such heading.

    :param version: The tree's own version.
    :param since: The installed version; its section and older ones are left out.
    :return: Lines without control characters, at most ``CHANGELOG_CHARACTERS``; empty
        when there is no such file, or nothing in it about these versions.
    """
    content = tree.files.get(CHANGELOG_FILE, b"")
    if len(content) > limits.CHANGELOG_BYTES:
        return ""
    kept: list[str] = []
    wanted = False
    for line in content.decode("utf-8-sig", "replace").splitlines():
        found = _version_of(line)
        if found is not None:
            wanted = is_lower(since, found) and not is_lower(version, found)
        if wanted:
            kept.append(visible(line.replace("\t", "    ")).rstrip())
    return "\n".join(kept).strip()[: limits.CHANGELOG_CHARACTERS]


def _version_of(line: str) -> str | None:
    """Return the version that a heading begins with."""
    heading = _HEADING.fullmatch(line)
    found = heading and _VERSION.match(heading["text"])
    if not found or not is_version(found["version"]):
        return None
    return found["version"]
