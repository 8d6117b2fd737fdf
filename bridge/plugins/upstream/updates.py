"""
Which installed plugins are behind their repositories.

Each remote is checked in a thread, a few at a time, alongside operations and without
their locks.  A result is cached for a while with the commit it was compared with, so
an update invalidates it.
"""

from __future__ import annotations

import threading
from typing import ClassVar, Protocol

from attrs import define, field, frozen
from twisted.internet.defer import Deferred, DeferredList, DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...concurrency.threads import InThread
from ...protocol.errors import BridgeError, shutting_down
from ...protocol.limits import (
    UPDATE_TURN_SECONDS,
    UPDATES_ANSWER_SECONDS,
    UPDATES_AT_ONCE,
    UPDATES_FRESH_SECONDS,
)
from ..installed.ids import Entries
from ..installed.records import Record, read_records
from .history import Behind, LogEntry


class Upstream(Protocol):
    """Checks repositories; see ``GitUpstream``."""

    def behind(self, url: str, current: str, stop: threading.Event) -> Behind | None:
        """Count how far ``current`` is behind; blocks; ``None`` when it is the tip."""


@frozen
class Update:
    """
    A plugin that is behind its repository.

    :ivar id: The plugin's.
    :ivar current: The installed commit, 40 hexadecimal digits.
    :ivar latest: The tip of the default branch.
    :ivar commits_behind: How many commits are new; 50 stands for 50 or more.
    :ivar changelog: The new commits, the newest first, at most 50; each with
        ``commit``, ``summary`` and ``time``.
    """

    id: str
    current: str
    latest: str
    commits_behind: int
    changelog: list[LogEntry]


@frozen
class _Source:
    """What a look is about: when a record differs, it is outdated."""

    url: str
    commit: str

    @classmethod
    def of(cls, record: Record) -> _Source:
        return cls(record.url, record.commit)


@frozen
class _Outcome:
    """
    What a look has shown.

    :ivar at: When, in seconds.
    :ivar behind: ``None`` when nothing is new, or when the look failed.
    """

    source: _Source
    at: float
    failed: bool
    behind: Behind | None


@define(eq=False)
class _Look:
    """
    A look at one remote.

    :ivar stop: Ends the turn it has in a thread.
    :ivar hurried: Whether that was done to let others have a turn.
    :ivar abandoned: Whether nobody wants to know any more.
    :ivar ended: Fires with ``None``.
    """

    plugin_id: str
    source: _Source
    stop: threading.Event = field(factory=threading.Event)
    hurried: bool = False
    abandoned: bool = False
    ended: Deferred[None] = field(factory=Deferred)

    def abandon(self) -> None:
        """Stop it soon, and ignore its result."""
        self.abandoned = True
        self.stop.set()


@define(eq=False)
class Updates:
    """
    Checks for updates.

    :ivar in_thread: Where looks run; it needs ``UPDATES_AT_ONCE`` threads.
    """

    _records: Entries
    _upstream: Upstream
    _clock: IReactorTime
    _in_thread: InThread
    _outcomes: dict[str, _Outcome] = field(factory=dict)
    _looks: list[_Look] = field(factory=list)
    _turns: DeferredSemaphore = field(
        factory=lambda: DeferredSemaphore(UPDATES_AT_ONCE)
    )
    _closing: bool = False

    _log: ClassVar[Logger] = Logger()

    async def check(self) -> list[Update]:
        """
        Find the plugins that are behind, by id.

        Remotes that take longer than an answer may are looked at further, and their
        results are in a later answer.

        :raise BridgeError: ``unavailable``: the daemon is shutting down.
        """
        self._refuse_closing()
        sources = self._forget_outdated()
        # What failed last time must not keep the others waiting.
        for plugin_id in sorted(sources, key=self._has_failed):
            if self._needs_look(plugin_id):
                self._begin(plugin_id, sources[plugin_id])
        await self._ended_or_late()
        self._refuse_closing()
        return list(filter(None, map(self._update, self._forget_outdated())))

    def close(self) -> Deferred[None]:
        """
        Refuse new checks, and stop those under way.

        :return: Fires when no thread is busy any more.
        """
        self._closing = True
        ended: list[Deferred[None]] = [look.ended for look in self._looks]
        for look in list(self._looks):
            look.abandon()
        return DeferredList(ended).addCallback(lambda _: None)

    def _refuse_closing(self) -> None:
        if self._closing:
            raise shutting_down()

    def _forget_outdated(self) -> dict[str, _Source]:
        """Return what is installed now, and drop results about anything else."""
        records = read_records(self._records)
        sources = {of: _Source.of(record) for of, record in records.items()}
        for look in self._looks:
            if sources.get(look.plugin_id) != look.source:
                look.abandon()
        self._outcomes = {
            of: outcome
            for of, outcome in self._outcomes.items()
            if sources.get(of) == outcome.source
        }
        return sources

    def _has_failed(self, plugin_id: str) -> bool:
        outcome = self._outcomes.get(plugin_id)
        return outcome is not None and outcome.failed

    def _needs_look(self, plugin_id: str) -> bool:
        if any(look.plugin_id == plugin_id for look in self._wanted()):
            return False
        outcome = self._outcomes.get(plugin_id)
        if outcome is None:
            return True
        # A clock that was set back makes nothing fresh.
        return not 0 <= self._clock.seconds() - outcome.at < UPDATES_FRESH_SECONDS

    def _wanted(self) -> list[_Look]:
        return [look for look in self._looks if not look.abandoned]

    def _begin(self, plugin_id: str, source: _Source) -> None:
        look = _Look(plugin_id, source)
        self._looks.append(look)
        carrying_out = Deferred.fromCoroutine(self._carry_out(look))
        carrying_out.addErrback(self._broke, look)

    def _broke(self, failure: Failure, look: _Look) -> None:
        what = "looking for updates of {id} broke"
        self._log.failure(what, failure, id=look.plugin_id)

    async def _ended_or_late(self) -> None:
        late = self._clock.callLater(
            UPDATES_ANSWER_SECONDS, lambda: waiting.callback(None)
        )
        waiting: Deferred[None] = Deferred(lambda _: late.cancel())

        def ended(_: object) -> None:
            if late.active():
                late.cancel()
                waiting.callback(None)

        DeferredList([look.ended for look in self._wanted()]).addCallback(ended)
        await waiting

    def _update(self, plugin_id: str) -> Update | None:
        outcome = self._outcomes.get(plugin_id)
        behind = None if outcome is None else outcome.behind
        # A branch that was moved back offers nothing new.
        if outcome is None or behind is None or behind.commits == 0:
            return None
        return Update(
            plugin_id,
            outcome.source.commit,
            behind.latest,
            behind.commits,
            behind.changelog,
        )

    async def _carry_out(self, look: _Look) -> None:
        behind, failed = None, True
        try:
            behind, failed = await self._look(look), False
        except BridgeError as e:
            if not look.abandoned:
                self._log.warn(
                    "not known whether {id} is behind: {reason}",
                    id=look.plugin_id,
                    reason=e.message,
                )
        except Exception:  # noqa: BLE001
            self._log.failure("looking for updates of {id} broke", id=look.plugin_id)
        if not look.abandoned:
            now = self._clock.seconds()
            outcome = _Outcome(look.source, now, failed, behind)
            self._outcomes[look.plugin_id] = outcome
        self._looks.remove(look)
        look.ended.callback(None)

    async def _look(self, look: _Look) -> Behind | None:
        """
        Check in one turn, or in two when the first takes long and others wait.

        So a few dead remotes do not delay the others.
        """
        try:
            async with self._turns:
                return await self._first_turn(look)
        except BridgeError:
            if not look.hurried or look.abandoned:
                raise
        look.stop = threading.Event()
        async with self._turns:
            return await self._turn(look)

    async def _first_turn(self, look: _Look) -> Behind | None:
        hurry = self._clock.callLater(UPDATE_TURN_SECONDS, self._hurry, look)
        try:
            return await self._turn(look)
        finally:
            if hurry.active():
                hurry.cancel()

    def _hurry(self, look: _Look) -> None:
        if self._turns.waiting:
            look.hurried = True
            look.stop.set()

    async def _turn(self, look: _Look) -> Behind | None:
        if look.abandoned:
            return None
        source = look.source
        found: Behind | None = await self._in_thread(
            self._upstream.behind, source.url, source.commit, look.stop
        )
        return found
