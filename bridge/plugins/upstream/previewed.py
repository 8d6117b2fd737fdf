"""The result of a preview, and the part of a change log that is in it."""

from __future__ import annotations

import re
from typing import Final

from ...approval.wording import Differences
from ...classes import frozen
from ...protocol.limits import CHANGELOG_BYTES, CHANGELOG_CHARACTERS
from ...protocol.text import visible
from ..clone.history import LogEntry
from ..operations.candidate import Pin
from ..tree.about import About
from ..tree.manifest import Manifest
from ..tree.tree import Tree
from ..tree.versions import is_lower, is_version


@frozen
class PreviewedKey:
    """
    The key that signed a previewed tree.

    :ivar key_id: Its fingerprint.
    :ivar trusted: Whether the user has accepted it.
    :ivar trusted_at: When, in milliseconds since the epoch; only if it is trusted.
    """

    key_id: str
    trusted: bool
    trusted_at: int | None = None


@frozen
class InstalledVersion:
    """
    The installed plugin with the id of a previewed one.

    :ivar version: Empty when the tree was changed, or can't be read.
    :ivar commit: 40 hexadecimal digits.
    :ivar url: Where it was installed from.
    :ivar key_id: The fingerprint of its author's key.
    """

    version: str
    commit: str
    url: str
    key_id: str


@frozen
class Changelog:
    """
    What is new since the installed commit.

    :ivar notes: The sections of ``CHANGELOG.md`` about the versions after the installed
        one; empty without them. Plain text of others: never to be shown as HTML.
    :ivar commits: The commits since then, the newest first, at most 50; empty when
        the host did not answer in time.
    """

    notes: str
    commits: list[LogEntry]


@frozen
class Preview(Pin):
    """
    What would be installed; nothing of it is.

    :ivar url: Where it comes from.
    :ivar manifest: Its ``plugin.json``, with every list.
    :ivar about: Its README and its icon.
    :ivar expires_at: Until when its files are kept for an ``install`` or ``update``
        with its ``commit`` and ``digest`` as ``pin``: milliseconds since the epoch.
    :ivar key: Who signed it.
    :ivar changes: What it declares that the installed version does not, and the other
        way round; if none is installed, all of it is gained.
    :ivar installed: Only if a plugin of this id is installed.
    :ivar changelog: Only if another commit is installed from this URL.
    """

    url: str
    manifest: Manifest
    about: About
    expires_at: int
    key: PreviewedKey
    changes: Differences
    installed: InstalledVersion | None = None
    changelog: Changelog | None = None


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
    if len(content) > CHANGELOG_BYTES:
        return ""
    kept: list[str] = []
    wanted = False
    for line in content.decode("utf-8-sig", "replace").splitlines():
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
