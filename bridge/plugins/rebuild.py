"""
When the bundle is built, and of which plugins.

Before each build every recorded tree is verified, because a tree on disk may be
changed by anybody who can write there.  One that was changed is left out, and named
in the report.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol

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


def published_plugins(folder: Path) -> list[str] | None:
    """
    Which plugins the published bundle was built of.  Blocks.

    :param folder: The theme's folder.
    :return: ``None`` when there is no bundle, or it does not say.
    """
    found = _published(folder).get("plugins")
    return found if type(found) is list else None


def has_linked(folder: Path) -> bool:
    """Whether the published bundle was built of linked trees, too.  Blocks."""
    return "dev" in _published(folder)


def _published(folder: Path) -> dict[str, Any]:
    try:
        info = loads(read_bounded(folder / INFO_FILE, MANIFEST_BYTES))
    except (OSError, BridgeError):
        return {}
    return info if type(info) is dict else {}


@frozen(eq=False)
class _Waiter:
    restoring: bool
    before: Callable[[], Awaitable[object]] | None = None
    report: Deferred[Report] = field(factory=Deferred)


@define(eq=False)
class Rebuild:
    """
    Builds, one run at a time.

    What is asked for while a run goes on becomes one more run, whoever asked and
    however many: each gets the report of a run that began after they asked.

    :ivar published: See ``published_plugins``.
    """

    _store: Store
    _trees: Trees
    _builder: Builds
    _audience: Audience
    _in_thread: InThread
    _published: list[str] | None = None
    _waiters: list[_Waiter] = field(factory=list, init=False)
    _running: bool = field(default=False, init=False)
    _idle: list[Deferred[None]] = field(factory=list, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def run(
        self,
        *,
        restoring: bool = False,
        before: Callable[[], Awaitable[object]] | None = None,
    ) -> Deferred[Report]:
        """
        Build the bundle of every installed plugin.

        Pages are told before the report is given.  A restoring run follows a
        failed one, which left the bundle as it was: when it publishes the plugins
        that pages already have, they are told nothing, or they would offer to
        reload for a bundle that is no different.

        :param restoring: Whether it only takes a failed build back.
        :param before: Called first, while nothing is built.
        """
        if self._closed:
            return fail(shutting_down())
        waiter = _Waiter(restoring, before)
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
            self._tell(report, all(waiter.restoring for waiter in waiters))
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

    def _tell(self, report: Report, restoring: bool) -> None:
        known = self._published == report.plugins
        if report.ok:
            self._published = report.plugins
        if restoring and report.ok and known:
            self._log.info("the bundle is again what it was")
            return
        self._audience.built(report)

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
