"""What ``--print-token``, ``--rotate-token`` and ``--build-plugins`` do, and exit."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import frozen
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from . import __version__
from .datadir import DataDir
from .lock import LockedError, acquire
from .options import Place
from .plugins.build import Builder, Report
from .plugins.rebuild import Builds
from .plugins.records import read_records
from .plugins.table import plugin_of
from .plugins.trees import Trees
from .protocol.wire import dumps, loads, unstructure
from .store.store import InThread
from .store.view import StateView
from .token import PairingToken

BUILD_PATIENCE_SECONDS = 90.0


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


def build(reactor: Any, place: Place) -> bytes:
    """
    Build the bundle once; runs the reactor.

    It only reads the state, so it may run beside a daemon.

    :return: The report, as one line of JSON.
    :raise StoreError: The state file can't be read.
    """
    place.data.create()
    records = read_records(StateView.read(place.data.state))
    trees = Trees(place.data, place.profile, lambda: "")
    sound, faults = trees.sort_out(records)
    reports: list[Report] = []

    def in_thread(f: Any, *args: Any) -> Deferred[Any]:
        # Nothing else runs in this process, so nothing minds being blocked.
        return succeed(None).addCallback(lambda _: f(*args))

    def begin() -> None:
        building = make_builder(reactor, place, in_thread).build(sound)
        building.addCallback(reports.append)
        building.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run()
    left_out = [f"{plugin_id} is left out: {why}" for plugin_id, why in faults.items()]
    told = unstructure(reports[0])
    return dumps({**told, "errors": [*told["errors"], *left_out]})


def succeeded(report: bytes) -> bool:
    """Whether a report names no error."""
    return not loads(report)["errors"]
