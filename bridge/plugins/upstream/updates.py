"""
Which installed plugins are behind their repositories.

Many are checked at a time, alongside operations and without their locks.  A result is
kept for a while with the commit it was compared with, so an update invalidates it.
"""

from __future__ import annotations

import math
from typing import ClassVar

from attrs import field
from twisted.internet.defer import (
    CancelledError,
    Deferred,
    DeferredList,
    DeferredSemaphore,
)
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...classes import define, frozen
from ...protocol import limits
from ...protocol.budgets import TokenBucket
from ...protocol.errors import (
    BridgeError,
    forget_traceback,
    internal_error,
    shutting_down,
)
from ...system.processes import trim
from ..clone.history import LogEntry
from ..clone.repositories import Repositories
from ..installed.records import Entries, read_records


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
class Unknown:
    """
    A plugin of which it could not be found out whether it is behind.

    :ivar id: The plugin's.
    :ivar reason: Why, as the message of an error.
    """

    id: str
    reason: str


@frozen
class UpdatesResult:
    """
    What is known of all plugins; what is in none of the lists is up to date.

    :ivar updates: Those that are behind, by id.
    :ivar unknown: Those whose repositories could not be looked at.
    :ivar pending: The ids of those whose repositories have not answered yet; a later
        call has the result.  One may be in ``updates`` as well, as it was before.
    """

    updates: list[Update]
    unknown: list[Unknown]
    pending: list[str]


@define(eq=False)
class _Source:
    """
    What is known of one remote; outdated when the record differs.

    :ivar at: When the last look ended, in seconds.
    :ivar found: What it has found; ``None`` when nothing is new.
    :ivar looking: The look under way.
    """

    url: str
    commit: str
    at: float = -math.inf
    found: Update | Unknown | None = None
    looking: Deferred[None] | None = None


@define(eq=False)
class Updates:
    """Checks for updates."""

    _records: Entries
    _remotes: Repositories
    _clock: IReactorTime
    _sources: dict[str, _Source] = field(factory=dict)
    _places: DeferredSemaphore = field(
        factory=lambda: DeferredSemaphore(limits.UPDATES_AT_ONCE)
    )
    _asked: TokenBucket = field(init=False)
    _closing: bool = False

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        often = limits.UPDATES_ASKED_PER_MINUTE
        self._asked = TokenBucket(often / 60, often, self._clock.seconds)

    async def check(self, *, fresh: bool = False) -> UpdatesResult:
        """
        Find the plugins that are behind, by id.

        Those that take longer than an answer may are looked at further, and their
        results are in a later answer.

        :param fresh: Look at every remote, however recently that was done; but no more
            often than somebody presses a button.
        :raise BridgeError: ``unavailable``: the daemon is shutting down.
        """
        self._refuse_closing()
        fresh = fresh and self._asked.take() is not None
        self._installed()
        for plugin_id, source in self._in_turn():
            if source.looking is None and (fresh or self._is_old(source)):
                source.looking = Deferred.fromCoroutine(self._look(plugin_id, source))
                source.looking.addCallback(self._looked, source)
        await self._ended_or_late()
        self._refuse_closing()
        installed = self._installed()
        result = UpdatesResult([], [], [])
        for plugin_id, source in installed.items():
            is_pending = source.looking is not None or source.at == -math.inf
            if is_pending:
                result.pending.append(plugin_id)
            if isinstance(source.found, Update):
                result.updates.append(source.found)
            elif source.found is not None and not is_pending:
                result.unknown.append(source.found)
        return result

    def close(self) -> Deferred[None]:
        """
        Refuse new checks, and end those under way.

        :return: Fires when all have ended.
        """
        self._closing = True
        under_way = self._under_way()
        # Those that wait for a place come last, and must not get one now.
        for looking in reversed(under_way):
            looking.cancel()
        return DeferredList(under_way).addCallback(lambda _: None)

    def _refuse_closing(self) -> None:
        if self._closing:
            raise shutting_down()

    def _installed(self) -> dict[str, _Source]:
        """Return what is installed now, by id, and forget anything else."""
        former, self._sources = self._sources, {}
        for plugin_id, record in sorted(read_records(self._records).items()):
            source = former.get(plugin_id)
            if source and (source.url, source.commit) == (record.url, record.commit):
                self._sources[plugin_id] = former.pop(plugin_id)
            else:
                self._sources[plugin_id] = _Source(record.url, record.commit)
        for source in former.values():
            if source.looking is not None:
                source.looking.cancel()
        return self._sources

    def _is_old(self, source: _Source) -> bool:
        return self._clock.seconds() - source.at >= limits.UPDATES_FRESH_SECONDS

    def _under_way(self) -> list[Deferred[None]]:
        return [one.looking for _, one in self._in_turn() if one.looking]

    def _in_turn(self) -> list[tuple[str, _Source]]:
        # Who did not answer last time may keep a place for long, so comes last.
        sources = self._sources.items()
        return sorted(sources, key=lambda one: isinstance(one[1].found, Unknown))

    async def _ended_or_late(self) -> None:
        # What is late is not cancelled by the timeout; only this is.
        ended: Deferred[object] = Deferred()
        DeferredList(self._under_way()).addCallback(ended.callback)
        await ended.addTimeout(
            limits.UPDATES_ANSWER_SECONDS, self._clock, lambda _, __: None
        )

    async def _look(self, plugin_id: str, source: _Source) -> None:
        found: Update | Unknown | None = None
        try:
            async with self._places:
                behind = await self._remotes.behind(source.url, source.commit)
            # A branch that was moved back offers nothing new.
            if behind is not None and behind.commits:
                news = behind.latest, behind.commits, behind.changelog
                found = Update(plugin_id, source.commit, *news)
        except CancelledError as e:
            forget_traceback(e)
            return
        except BridgeError as e:
            found = Unknown(plugin_id, e.message)
            self._log.warn(
                "not known whether {id} is behind: {reason}",
                id=plugin_id,
                reason=e.message,
            )
            forget_traceback(e)
        except Exception:  # noqa: BLE001
            found = Unknown(plugin_id, internal_error().message)
            self._log.failure("looking for updates of {id} broke", id=plugin_id)
        source.found, source.at = found, self._clock.seconds()

    def _looked(self, _: object, source: _Source) -> None:
        source.looking = None
        if not self._under_way():
            trim()  # what servers have sent may be much
