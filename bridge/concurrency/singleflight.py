"""One run at a time: requests during a run become one more run after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from attrs import field
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define


@define(eq=False, repr=False)
class SingleFlight:
    """
    Runs a function, never twice at the same time.

    Several requests during a run are one more run.  A run that fails is logged, and
    the next one begins regardless: so the function itself must answer the callers
    that wait for its work.

    :ivar _what: What a run does, for the log: a participle, as in "writing".
    :ivar _body: One run; it may ask for another.
    """

    _what: str
    _body: Callable[[], Awaitable[object]]
    _is_wanted: bool = field(default=False, init=False)
    _is_running: bool = field(default=False, init=False)
    _waiting: list[Deferred[None]] = field(factory=list, init=False)

    _log: ClassVar[Logger] = Logger()

    @property
    def is_running(self) -> bool:
        """Whether a run is under way."""
        return self._is_running

    def ask(self) -> None:
        """Run once more: now, or when the run under way has ended."""
        self._is_wanted = True
        if not self._is_running:
            self._is_running = True
            Deferred.fromCoroutine(self._run()).addErrback(self._failed)

    def idle(self) -> Deferred[None]:
        """Return a Deferred that fires when nothing runs, and nothing is to run."""
        waiting: Deferred[None] = Deferred()
        if self._is_running:
            self._waiting.append(waiting)
        else:
            waiting.callback(None)
        return waiting

    async def _run(self) -> None:
        try:
            while self._is_wanted:
                self._is_wanted = False
                await self._once()
        finally:
            self._is_running = False
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                one.callback(None)

    async def _once(self) -> None:
        try:
            await self._body()
        except Exception:  # noqa: BLE001
            self._failed(Failure())

    def _failed(self, failure: Failure) -> None:
        self._log.failure("{what} failed", failure, what=self._what)
