"""What ``--print-token``, ``--rotate-token`` and ``--build-plugins`` do, and exit."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from .. import __version__
from ..classes import frozen
from ..concurrency.threads import InThread
from ..daemon.controlsocket import announce_token
from ..datadir.ownership import NotOwnError
from ..datadir.paths import DataDir, DataDirError
from ..datadir.token import PairingToken
from ..plugins.bundle.build import Builder, Report
from ..plugins.esbuild.executable import BundlerError, Executable, HeldCopy
from ..plugins.installed.exchange import Journal
from ..plugins.installed.records import read_records
from ..plugins.installed.trees import Trees
from ..plugins.operations.rebuild import Builds
from ..plugins.operations.settlement import recover
from ..plugins.policy.scan import Scanner
from ..plugins.tree.tree import Verify
from ..settings.options import Paths
from ..store import read_state
from ..store.store import Store
from ..system.locks import Lock, LockedError, acquire

BUILD_PATIENCE_SECONDS = 90.0
BUILD_AGAIN_SECONDS = 0.05

T = TypeVar("T")


def token(data: DataDir, rotate: bool) -> str:
    """
    Return the pairing token, made when there is none.

    :param rotate: Whether to replace it first, which a running daemon follows.
    :raise TokenError: The file can't be used.
    """
    data.create()
    if not rotate:
        return PairingToken.load_or_create(data.token).reveal()
    replaced = PairingToken.rotate(data.token)
    announce_token(data.control_socket)
    return replaced.reveal()


@frozen
class ExclusiveBuilder:
    """
    Builds while holding the directory's build lock; see docs/decisions/0006.

    Another process may be building there: a daemon, or an installer.
    """

    _builder: Builder
    _data: DataDir
    _in_thread: InThread

    _log: ClassVar[Logger] = Logger()

    def build(self, verify: Verify) -> Deferred[Report]:
        """See ``bridge.plugins.bundle.build.Builder.build``."""
        return Deferred.fromCoroutine(self._build(verify))

    async def _build(self, verify: Verify) -> Report:
        try:
            lock = await self._in_thread(self._lock)
        except (LockedError, OSError) as e:
            error = f"another build has been running for {BUILD_PATIENCE_SECONDS:g} s"
            if isinstance(e, DataDirError):
                error = str(e)
            elif isinstance(e, OSError):
                error = f"the bundle could not be made: {e.strerror or 'I/O error'}"
            return _not_built(error)
        try:
            return await self._builder.build(verify)
        finally:
            lock.release()

    def _lock(self) -> Lock:
        # Somebody may have removed what the daemon's start made.
        self._data.create()
        return acquire(self._data.build / "lock", BUILD_PATIENCE_SECONDS)


def make_builder(
    reactor: Any, paths: Paths, in_thread: InThread, bundler: HeldCopy
) -> Builds:
    """
    Make what builds bundles for a host.

    :param bundler: One for all that runs the bundler.
    """
    builder = _builder(reactor, paths, in_thread, bundler)
    return ExclusiveBuilder(builder, paths.data, in_thread)


def make_scanner(
    reactor: Any, paths: Paths, in_thread: InThread, bundler: HeldCopy
) -> Scanner:
    """Make what scans plugins' sources; see ``make_builder``."""

    def executable() -> Executable:
        try:
            return bundler.get(paths.data.checked(paths.data.bin))
        except NotOwnError as e:
            raise BundlerError(str(e)) from None

    return Scanner(reactor, in_thread, executable, os.urandom)


def _builder(
    reactor: Any, paths: Paths, in_thread: InThread, bundler: HeldCopy
) -> Builder:
    log = Logger(namespace="bridge.build")
    return Builder(
        paths.profile,
        paths.data,
        paths.theme_dir,
        reactor,
        in_thread,
        __version__,
        lambda text: log.warn("bundler warning: {text}", text=text),
        bundler,
    )


async def build(reactor: Any, paths: Paths) -> Report:
    """
    Build the bundle once.

    It may run alongside a daemon, whose state it only reads; and it waits for the
    operation that a daemon has under way, whose trees and records disagree.

    :raise StoreError: The state file can't be read.
    :raise JournalError: An operation was interrupted, and can't be settled.
    """
    paths.data.create()
    trees = Trees(paths.data, paths.profile, lambda: "")
    try:
        lock = await _quiet(reactor, paths, trees)
    except OSError as e:
        return _not_built(f"the bundle could not be made: {e.strerror or 'I/O error'}")
    if lock is None:
        return _not_built(
            f"another build has been running for {BUILD_PATIENCE_SECONDS:g} s"
        )
    try:
        records = read_records(read_state(paths.data.state))
        builder = _builder(reactor, paths, maybeDeferred, HeldCopy())
        return await builder.build(partial(trees.verified_trees, records))
    finally:
        lock.release()


def _not_built(error: str) -> Report:
    return Report(ok=False, duration_ms=0, plugins=[], errors=[error])


async def _quiet(reactor: Any, paths: Paths, trees: Trees) -> Lock | None:
    """
    Take the build lock when no operation is under way.

    :return: ``None`` when patience has run out.
    """
    journal = Journal(paths.data.journal)
    end = reactor.seconds() + BUILD_PATIENCE_SECONDS
    while reactor.seconds() < end:
        try:
            lock = acquire(paths.data.build / "lock")
        except LockedError:
            await _later(reactor)
            continue
        if _is_settled(paths, journal, trees):
            return lock
        # The operation ends with a build, for which it needs this lock.
        lock.release()
        await _later(reactor)
    return None


def _is_settled(paths: Paths, journal: Journal, trees: Trees) -> bool:
    """Whether no operation is under way; settle one that a dead daemon has left."""
    if not journal.exists():
        return True
    try:
        lock = acquire(paths.data.lock)
    except LockedError:
        return False
    try:
        recover(journal, Store.open(paths.data.state, maybeDeferred), trees)
    finally:
        lock.release()
    return True


def _later(reactor: Any) -> Deferred[None]:
    return deferLater(reactor, BUILD_AGAIN_SECONDS)


def run(reactor: Any, begin: Callable[[], Awaitable[T]]) -> T:
    """
    Run the reactor for one thing.

    :param reactor: Not running, and not to be run again.
    :raise KeyboardInterrupt: The user ended it first.
    """
    done: list[Deferred[T]] = []

    def start() -> None:
        doing = Deferred.fromCoroutine(_awaited(begin))
        done.append(doing)
        doing.addBoth(_stopping, reactor)

    reactor.callWhenRunning(start)
    reactor.run()
    if not (done and done[0].called):
        raise KeyboardInterrupt
    outcome: Any = done[0].result
    if isinstance(outcome, Failure):
        done[0].addErrback(lambda _: None)
        outcome.raiseException()
    result: T = outcome
    return result


async def _awaited(begin: Callable[[], Awaitable[T]]) -> T:
    return await begin()


def _stopping(outcome: Any, reactor: Any) -> Any:
    reactor.callLater(0, reactor.stop)
    return outcome
