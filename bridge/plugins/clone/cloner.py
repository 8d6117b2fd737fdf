"""
Fetching a plugin's repository: in process, within limits, into a fresh directory.

No git program, configuration, hook, filter or credential takes part.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from ...classes import frozen
from ...concurrency.threads import Check, stoppable
from .access import RepositoryAccess
from .gitprotocol import Fetched, fetch
from .objects.dotgit import write_repository
from .objects.pack import unpack
from .objects.snapshot import read_snapshot
from .server import Server
from .transfer import clone_failed


@frozen
class GitCloner(RepositoryAccess):
    """Clones repositories over https."""

    async def clone(self, url: str, into: Path, progress: Callable[[int], None]) -> str:
        """
        Clone the default branch of ``url`` at depth 1.

        :param into: The work tree to make; it must not exist, its parent must.  After
            a failure it does not exist.
        :param progress: Called with the bytes received so far, at most 5 times a
            second.
        :return: The commit, 40 hexadecimal digits.
        :raise BridgeError: ``not_https``, ``policy`` (a symlink or a submodule), or
            ``clone_failed`` for everything else.
        """

        async def cloned(server: Server) -> str:
            fetched = await fetch(server, self.in_thread)
            await server.close()
            await stoppable(
                self.in_thread, lambda check: self._write(url, into, fetched, check)
            )
            return fetched.commit

        return await self.opened(url, cloned, progress)

    def _write(self, url: str, into: Path, fetched: Fetched, check: Check) -> None:
        commit = fetched.commit
        unpacked = unpack(fetched.pack, self.limits, check)
        snapshot = read_snapshot(commit, unpacked, self.limits, check)
        try:
            into.mkdir(mode=0o700)
            try:
                snapshot.tree.write(into)
                write_repository(into, url, commit, fetched.pack, unpacked, snapshot)
                check()
            except BaseException:
                shutil.rmtree(into, ignore_errors=True)
                raise
        except OSError as e:
            why = f": {e.strerror}" if e.strerror else ""
            raise clone_failed(f"the files could not be written{why}") from e
