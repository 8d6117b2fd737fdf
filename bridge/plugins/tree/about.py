"""What a plugin shows of itself before it runs: its README and its icon."""

from __future__ import annotations

import base64
from typing import Final

from ...classes import frozen
from ...protocol import limits
from ...protocol.text import visible
from .tree import Tree

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
