"""
Fetching a plugin's repository: in process, within limits, into a fresh directory.

No git program, configuration, hook, filter or credential takes part.  All of it
blocks; the caller runs it in a thread.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from ...protocol.errors import BridgeError
from .reach import RepositoryAccess
from .transfer import Transfer, clone_failed
from .urls import check_url


@frozen
class GitCloner(RepositoryAccess):
    """Clones repositories over https."""

    def clone(
        self,
        url: str,
        into: Path,
        progress: Callable[[int], None],
        stop: threading.Event,
    ) -> str:
        """
        Clone the default branch of ``url`` at depth 1.

        :param into: The work tree to make; it must not exist, its parent must.  After
            a failure it does not exist.
        :param progress: Called in this thread with the bytes received so far, at most
            5 times a second.
        :param stop: Set by another thread to give up, within about a second.
        :return: The commit, 40 hexadecimal digits.
        :raise BridgeError: ``not_https``, ``policy`` (a symlink or a submodule), or
            ``clone_failed`` for everything else.
        """
        check_url(url)
        with Transfer(self.limits, self.now, progress, stop) as transfer:
            try:
                return self._clone(url, into, transfer)
            except (OSError, BridgeError) as e:
                # A cut connection fails somehow; why it was cut is what counts.
                transfer.check()
                if isinstance(e, BridgeError):
                    raise
                raise clone_failed("the files could not be written") from e

    def _clone(self, url: str, into: Path, transfer: Transfer) -> str:
        # These load dulwich, which the daemon's start does not need.
        from .gitprotocol import fetch
        from .objects.dotgit import write_repository
        from .objects.pack import unpack
        from .objects.snapshot import read_snapshot, write_files

        server = self.open(url, transfer)
        try:
            fetched = fetch(url, server, transfer)
        finally:
            server.close()
        commit = fetched.commit
        unpacked = unpack(fetched.pack, self.limits, transfer.check)
        tree = read_snapshot(commit, unpacked, self.limits, transfer.check)
        into.mkdir(mode=0o700)
        try:
            write_files(tree.files, into, transfer.check)
            write_repository(into, url, commit, fetched.pack, unpacked, tree)
            transfer.check()
        except BaseException:
            shutil.rmtree(into, ignore_errors=True)
            raise
        return commit
