"""
When the bundle is built, and of which plugins.

Before each build every recorded tree is verified, because a tree on disk may be
changed by anybody who can write there.  One that was changed is left out, and named
in the report.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Protocol

from attrs import define, evolve, field, frozen
from twisted.internet.defer import Deferred, fail
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..protocol.errors import BridgeError
from ..protocol.limits import MANIFEST_BYTES
from ..protocol.wire import loads
from ..store import Store
from ..store.store import InThread
from .build import Report
from .files import read_bounded
from .operations import shutting_down
from .progress import Audience
from .records import read_records
from .staging import INFO_FILE
from .trees import Trees


class Builds(Protocol):
    """Makes bundles; see ``Builder``."""

    def build(self, directories: list[str]) -> Deferred[Report]:
        """Build a bundle of these; a failed build is a report too."""


def has_linked(folder: Path) -> bool:
    """
    Whether the published bundle was built of linked trees, too.  Blocks.

    :param folder: The theme's folder.
    """
    try:
        info = loads(read_bounded(folder / INFO_FILE, MANIFEST_BYTES))
    except (OSError, BridgeError):
        return False
    return type(info) is dict and "dev" in info


@frozen(eq=False)
class _Waiter:
    before: Callable[[], Awaitable[object]] | None = None
    report: Deferred[Report] = field(factory=Deferred)


@define(eq=False)
class Rebuild:
    """
    Builds, one run at a time.

    What is asked for while a run goes on becomes one more run, whoever asked and
    however many: each gets the report of a run that began after they asked.
    """

    _store: Store
    _trees: Trees
    _builder: Builds
    _audience: Audience
    _in_thread: InThread
    _waiters: list[_Waiter] = field(factory=list, init=False)
    _running: bool = field(default=False, init=False)
    _idle: list[Deferred[None]] = field(factory=list, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def run(
        self, *, before: Callable[[], Awaitable[object]] | None = None
    ) -> Deferred[Report]:
        """
        Build the bundle of every installed plugin.

        Pages are told of every report, before it is given.

        :param before: Called first, while nothing is built.
        """
        if self._closed:
            return fail(shutting_down())
        waiter = _Waiter(before)
        self._waiters.append(waiter)
        if not self._running:
            self._running = True
            Deferred.fromCoroutine(self._drain())
        return waiter.report

    async def _drain(self) -> None:
        while self._waiters:
            waiters, self._waiters = self._waiters, []
            try:
                for waiter in waiters:
                    if waiter.before is not None:
                        await waiter.before()
                report = await self._build()
            except Exception:  # noqa: BLE001
                failure = Failure()
                for waiter in waiters:
                    waiter.report.errback(failure)
                continue
            self._audience.built(report)
            for waiter in waiters:
                waiter.report.callback(report)
        self._running = False
        idle, self._idle = self._idle, []
        for closing in idle:
            closing.callback(None)

    async def _build(self) -> Report:
        sound, faults = await self._in_thread(
            self._trees.sort_out, read_records(self._store)
        )
        left_out = [
            f"{plugin_id} is left out: {why}" for plugin_id, why in faults.items()
        ]
        for line in left_out:
            self._log.warn("{line}", line=line)
        report = await self._builder.build(sound)
        return evolve(report, errors=[*report.errors, *left_out])

    def close(self) -> Deferred[None]:
        """
        Begin no more.

        :return: Fires when no build is under way.
        """
        self._closed = True
        closing: Deferred[None] = Deferred()
        if self._running:
            self._idle.append(closing)
        else:
            closing.callback(None)
        return closing
