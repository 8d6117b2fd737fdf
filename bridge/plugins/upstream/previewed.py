"""The result of a preview."""

from __future__ import annotations

from ...approval.wording import Differences
from ...classes import frozen
from ..clone.history import LogEntry
from ..operations.kept import Pin
from ..tree.manifest import Manifest


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
    expires_at: int
    key: PreviewedKey
    changes: Differences
    installed: InstalledVersion | None = None
    changelog: Changelog | None = None
