"""What ``--print-token``, ``--rotate-token`` and ``--build-plugins`` do, and exit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar

from attrs import evolve, frozen
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from . import __version__
from .datadir import DataDir
from .lock import LockedError, acquire
from .options import Place
from .plugins.build import Builder, Report
from .plugins.rebuild import Builds
from .plugins.records import read_records
from .plugins.table import plugin_of
from .plugins.trees import Trees
from .store.store import InThread
from .store.view import StateView
from .token import PairingToken

BUILD_PATIENCE_SECONDS = 90.0

T = TypeVar("T")


def token(data: DataDir, rotate: bool) -> str:
    """
    Give the pairing token, made when there is none.

    :param rotate: Whether to replace it first.
    :raise TokenError: The file can't be used.
    """
    data.create()
    make = PairingToken.rotate if rotate else PairingToken.load_or_create
    return make(data.token).reveal()


@frozen
class ExclusiveBuilder:
    """
    Builds while holding the directory's build lock; see docs/decisions/0006.

    Another process may be building there: a daemon, or an installer beside it.
    """

    _builder: Builder
    _data: DataDir
    _in_thread: InThread

    _log: ClassVar[Logger] = Logger()

    def build(self, directories: list[str]) -> Deferred[Report]:
        """See ``bridge.plugins.build.Builder.build``."""
        return Deferred.fromCoroutine(self._build(directories))

    async def _build(self, directories: list[str]) -> Report:
        path = self._data.build / "lock"
        try:
            lock = await self._in_thread(acquire, path, BUILD_PATIENCE_SECONDS)
        except LockedError:
            error = f"another build has been running for {BUILD_PATIENCE_SECONDS:g} s"
            ids = sorted(map(plugin_of, directories))
            return Report(ok=False, duration_ms=0, plugins=ids, errors=[error])
        try:
            return await self._builder.build(directories)
        finally:
            lock.release()


def make_builder(reactor: Any, place: Place, in_thread: InThread) -> Builds:
    """Make what builds bundles for a host."""
    log = Logger(namespace="bridge.build")
    builder = Builder(
        place.profile,
        place.data,
        place.theme_dir,
        reactor,
        in_thread,
        __version__,
        lambda text: log.warn("the bundler warns: {text}", text=text),
    )
    return ExclusiveBuilder(builder, place.data, in_thread)


async def build(reactor: Any, place: Place) -> Report:
    """
    Build the bundle once.

    It only reads the state, so it may run beside a daemon.

    :raise StoreError: The state file can't be read.
    """
    place.data.create()
    records = read_records(StateView.read(place.data.state))
    trees = Trees(place.data, place.profile, lambda: "")
    sound, faults = trees.sort_out(records)
    report = await make_builder(reactor, place, maybeDeferred).build(sound)
    left_out = [f"{plugin_id} is left out: {why}" for plugin_id, why in faults.items()]
    return evolve(report, errors=[*report.errors, *left_out])


def run(reactor: Any, begin: Callable[[], Awaitable[T]]) -> T:
    """
    Run the reactor for one thing.

    :param reactor: Not running, and not to be run again.
    """
    done: list[Deferred[T]] = []

    def start() -> None:
        doing = Deferred.fromCoroutine(_awaited(begin))
        done.append(doing)
        doing.addBoth(_stopping, reactor)

    reactor.callWhenRunning(start)
    reactor.run()
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
