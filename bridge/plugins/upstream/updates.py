"""
Which installed plugins are behind their repositories.

Remotes are checked many at a time, alongside operations and without their locks.  A
result is kept for a while with the commit it was compared with, so an update
invalidates it.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from attrs import define, field, frozen
from twisted.internet.defer import (
    CancelledError,
    Deferred,
    DeferredList,
    DeferredSemaphore,
)
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...protocol.errors import BridgeError, internal_error, shutting_down
from ...protocol.limits import (
    UPDATES_ANSWER_SECONDS,
    UPDATES_AT_ONCE,
    UPDATES_FRESH_SECONDS,
)
from ..installed.ids import Entries
from ..installed.records import Record, read_records
from .history import Behind, LogEntry


class Upstream(Protocol):
    """Checks repositories; see ``GitUpstream``."""

    async def tip(self, url: str) -> str:
        """Return the commit of the default branch."""

    async def behind(self, url: str, current: str) -> Behind | None:
        """Count how far ``current`` is behind; ``None`` when it is the tip."""


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
class Outdated:
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
class _Look:
    """
    A look at one remote; outdated when the record differs from what it is about.

    :ivar at: When it ended, in seconds; ``None`` while it is under way.
    :ivar behind: ``None`` when nothing is new, or when it failed.
    :ivar why_unknown: Why it failed; empty when it did not.
    :ivar before: What was known before; ``None`` when nothing was.
    """

    url: str
    commit: str
    before: _Look | None
    at: float | None = None
    behind: Behind | None = None
    why_unknown: str = ""
    carried_out: Deferred[None] = field(factory=Deferred)

    def is_about(self, record: Record | None) -> bool:
        """Whether this is what is installed."""
        return record is not None and (record.url, record.commit) == (
            self.url,
            self.commit,
        )

    def update(self, plugin_id: str) -> Update | None:
        """Return what is known to be new."""
        known = self.before if self.at is None else self
        # A branch that was moved back offers nothing new.
        if known is None or known.behind is None or known.behind.commits == 0:
            return None
        behind = known.behind
        return Update(
            plugin_id, self.commit, behind.latest, behind.commits, behind.changelog
        )


@define(eq=False)
class Updates:
    """Checks for updates."""

    _records: Entries
    _upstream: Upstream
    _clock: IReactorTime
    _looks: dict[str, _Look] = field(factory=dict)
    _places: DeferredSemaphore = field(
        factory=lambda: DeferredSemaphore(UPDATES_AT_ONCE)
    )
    _closing: bool = False

    _log: ClassVar[Logger] = Logger()

    async def check(self, *, fresh: bool = False) -> Outdated:
        """
        Find the plugins that are behind, by id.

        Remotes that take longer than an answer may are looked at further, and their
        results are in a later answer.

        :param fresh: Look at every remote, however recently that was done.
        :raise BridgeError: ``unavailable``: the daemon is shutting down.
        """
        self._refuse_closing()
        for plugin_id, record in sorted(self._forget_outdated().items()):
            if self._needs_look(plugin_id, fresh):
                self._begin(plugin_id, record)
        await self._ended_or_late()
        self._refuse_closing()
        installed = self._forget_outdated()
        looks = [(of, self._looks[of]) for of in sorted(installed) if of in self._looks]
        return Outdated(
            [found for of, look in looks if (found := look.update(of))],
            [Unknown(of, look.why_unknown) for of, look in looks if look.why_unknown],
            [of for of in sorted(installed) if self._is_pending(of)],
        )

    def close(self) -> Deferred[None]:
        """
        Refuse new checks, and end those under way.

        :return: Fires when all have ended.
        """
        self._closing = True
        under_way = [look.carried_out for look in self._looks.values()]
        # Those that wait for a place come last, and must not get one now.
        for carried_out in reversed(under_way):
            carried_out.cancel()
        return DeferredList(under_way).addCallback(lambda _: None)

    def _refuse_closing(self) -> None:
        if self._closing:
            raise shutting_down()

    def _forget_outdated(self) -> dict[str, Record]:
        """Return what is installed now, and drop looks at anything else."""
        records = read_records(self._records)
        for plugin_id, look in list(self._looks.items()):
            if not look.is_about(records.get(plugin_id)):
                del self._looks[plugin_id]
                look.carried_out.cancel()
        return records

    def _is_pending(self, plugin_id: str) -> bool:
        look = self._looks.get(plugin_id)
        return look is None or look.at is None

    def _needs_look(self, plugin_id: str, fresh: bool) -> bool:
        look = self._looks.get(plugin_id)
        if look is None:
            return True
        if look.at is None:
            return False
        # A clock that was set back makes nothing fresh.
        age = self._clock.seconds() - look.at
        return fresh or not 0 <= age < UPDATES_FRESH_SECONDS

    def _begin(self, plugin_id: str, record: Record) -> None:
        before = self._looks.get(plugin_id)
        if before is not None:
            before.before = None
        look = _Look(record.url, record.commit, before)
        self._looks[plugin_id] = look
        look.carried_out = Deferred.fromCoroutine(self._carry_out(plugin_id, look))

    async def _ended_or_late(self) -> None:
        late = self._clock.callLater(
            UPDATES_ANSWER_SECONDS, lambda: waiting.callback(None)
        )
        waiting: Deferred[None] = Deferred(lambda _: late.cancel())

        def ended(_: object) -> None:
            if late.active():
                late.cancel()
                waiting.callback(None)

        under_way = [one.carried_out for one in self._looks.values() if one.at is None]
        DeferredList(under_way).addCallback(ended)
        await waiting

    async def _carry_out(self, plugin_id: str, look: _Look) -> None:
        try:
            async with self._places:
                look.behind = await self._upstream.behind(look.url, look.commit)
        except CancelledError:
            return
        except BridgeError as e:
            look.why_unknown = e.message
            self._log.warn(
                "not known whether {id} is behind: {reason}",
                id=plugin_id,
                reason=e.message,
            )
        except Exception:  # noqa: BLE001
            look.why_unknown = internal_error().message
            self._log.failure("looking for updates of {id} broke", id=plugin_id)
        look.at = self._clock.seconds()
        look.before = None
