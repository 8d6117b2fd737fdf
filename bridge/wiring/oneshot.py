"""What ``--print-token``, ``--rotate-token`` and ``--build-plugins`` do, and exit."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import maybeDeferred

from ..daemon.controlsocket import announce_token
from ..datadir.token import make_token, read_or_make_token
from ..plugins.bundle.build import Builder, Report
from ..plugins.installed.exchange import Journal, recover
from ..plugins.installed.records import read_records
from ..plugins.installed.trees import Trees
from ..plugins.tree.tree import Verified
from ..provision.hostsources import check_directory_host
from ..settings.host import Paths
from ..store.state import read_state
from ..store.store import Store
from ..system.locks import LockedError


def token(paths: Paths, rotate: bool) -> str:
    """
    Return the pairing token, made when there is none.

    :param rotate: Whether to replace it first, which a running daemon follows.
    :raise DataDirError: The directory is another host's, or can't be used.
    :raise TokenError: The file can't be used.
    """
    data = paths.data
    data.create()
    check_directory_host(paths)
    if not rotate:
        return read_or_make_token(data.token)
    replaced = make_token(data.token)
    announce_token(data.control_socket)
    return replaced


async def build(reactor: Any, paths: Paths) -> Report:
    """
    Build the bundle once.

    It may run alongside a daemon, whose state it only reads; and it waits for the
    operation that a daemon has under way, whose trees and records disagree.

    :raise DataDirError: The directory is another host's, or can't be used.
    :raise StoreError: The state file can't be read.
    :raise JournalError: An operation was interrupted, and can't be settled.
    """
    paths.data.create()
    check_directory_host(paths)
    trees = Trees(paths.data, paths.profile, lambda: "")

    def verify() -> Verified | None:
        if not _is_settled(paths, trees):
            return None
        return trees.verified_trees(read_records(read_state(paths.data.state)))

    return await Builder(paths, reactor, maybeDeferred).build(verify)


def _is_settled(paths: Paths, trees: Trees) -> bool:
    """Whether no operation is under way; settle one that a dead daemon has left."""
    journal = Journal(paths.data.journal)
    if not journal.exists():
        return True
    try:
        with paths.data.claim():
            recover(journal, Store.open(paths.data.state, maybeDeferred), trees)
    except LockedError:
        return False
    return True
