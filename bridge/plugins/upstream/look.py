"""
Checks a plugin's repository without fetching its files.

The transport and its rules are those of a clone.  Everything stays in memory, and
nothing installed is read or written.
"""

from __future__ import annotations

import re
from typing import Final

from ...classes import frozen
from ...concurrency.threads import Check, stoppable
from ...protocol import limits
from ...protocol.errors import BridgeError
from ..clone.access import RepositoryAccess
from ..clone.gitprotocol import fetch, tip
from ..clone.objects.pack import unpack
from ..clone.server import Server
from ..clone.transfer import CloneLimits, clone_failed
from .history import Behind, compare, read_commits

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

    async def tip(self, url: str) -> str:
        """
        Return the commit of the default branch of ``url``, 40 hexadecimal digits.

        :raise BridgeError: ``not_https``, or ``clone_failed`` for everything else.
        """
        return await self.opened(url, lambda server: tip(server, self.in_thread))

    async def behind(self, url: str, current: str) -> Behind | None:
        """
        Count how far a commit is behind the default branch of ``url``.

        :param current: The commit, 40 hexadecimal digits.
        :return: ``None`` when it is the branch's tip.
        :raise BridgeError: ``not_https``, or ``clone_failed`` for everything else.
        """
        if _COMMIT.fullmatch(current) is None:
            raise clone_failed("the record names no commit")
        return await self.opened(url, lambda server: self._look(server, current))

    async def _look(self, server: Server, current: str) -> Behind | None:
        found = await self._compared(server, current)
        if found is None or found.met:
            return found
        # Far behind, or the branch was rewritten.  Most servers also give a commit
        # that no branch leads to, and then it is known where the two parted.
        try:
            return await self._compared(server, current, also=current)
        except BridgeError:
            return found

    async def _compared(
        self, server: Server, current: str, also: str = ""
    ) -> Behind | None:
        fetched = await fetch(
            server,
            self.in_thread,
            depth=limits.UPDATE_COMMITS,
            only_commits=True,
            known=current,
            also=also,
        )
        if fetched.commit == current:
            return None

        def compared(check: Check) -> Behind:
            unpacked = unpack(fetched.pack, self.limits, check)
            commits = read_commits(unpacked, check)
            return compare(fetched.commit, current, commits, check)

        return await stoppable(self.in_thread, compared)
