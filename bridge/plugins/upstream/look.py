"""
Checks a plugin's repository without fetching its files.

The transport and its rules are those of a clone.  Everything stays in memory, and
nothing installed is read or written.  It blocks; the caller runs it in a thread.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Final

from attrs import frozen

from ...protocol import limits
from ...protocol.errors import BridgeError
from ..clone.objects.pack import unpack
from ..clone.reach import RepositoryAccess
from ..clone.transfer import CloneLimits, Transfer, clone_failed
from ..clone.urls import check_url
from .history import Behind, compare, read_commits

if TYPE_CHECKING:
    from ..clone.https import Server

_COMMIT: Final = re.compile("[0-9a-f]{40}")


@frozen
class GitUpstream(RepositoryAccess):
    """Checks repositories over https."""

    @staticmethod
    def default_limits() -> CloneLimits:
        """Return those of a check: commits are small, but some servers send more."""
        return CloneLimits(
            seconds=limits.UPDATE_SECONDS,
            received_bytes=limits.UPDATE_RECEIVED_BYTES,
            objects=limits.UPDATE_OBJECTS,
        )

    def behind(self, url: str, current: str, stop: threading.Event) -> Behind | None:
        """
        Count how far a commit is behind the default branch of ``url``.

        :param current: The commit, 40 hexadecimal digits.
        :param stop: Set by another thread to give up, within about a second.
        :return: ``None`` when it is the branch's tip.
        :raise BridgeError: ``not_https``, or ``clone_failed`` for everything else.
        """
        check_url(url)
        if _COMMIT.fullmatch(current) is None:
            raise clone_failed("the record names no commit")
        with Transfer(self.limits, self.now, lambda count: None, stop) as transfer:
            try:
                return self._look(url, current, transfer)
            except BridgeError:
                # A cut connection fails somehow; why it was cut is what counts.
                transfer.check()
                raise

    def _look(self, url: str, current: str, transfer: Transfer) -> Behind | None:
        server = self.open(url, transfer)
        try:
            return self._asked(url, server, current, transfer)
        finally:
            server.close()

    def _asked(
        self, url: str, server: Server, current: str, transfer: Transfer
    ) -> Behind | None:
        found = self._compared(url, server, current, transfer)
        if found is None or found.met:
            return found
        # Far behind, or the branch was rewritten.  Most servers also give a commit
        # that no branch leads to, and then it is known where the two parted.
        try:
            return self._compared(url, server, current, transfer, also=current)
        except BridgeError:
            transfer.check()
            return found

    def _compared(
        self,
        url: str,
        server: Server,
        current: str,
        transfer: Transfer,
        also: str | None = None,
    ) -> Behind | None:
        from ..clone.gitprotocol import fetch

        fetched = fetch(
            url,
            server,
            transfer,
            depth=limits.UPDATE_COMMITS,
            filter_spec=b"tree:0",
            known=current,
            also=also,
        )
        if fetched.commit == current:
            return None
        unpacked = unpack(fetched.pack, self.limits, transfer.check)
        commits = read_commits(unpacked, transfer.check)
        return compare(fetched.commit, current, commits, transfer.check)
