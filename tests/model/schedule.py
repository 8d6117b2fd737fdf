"""Threads whose work is done, one piece at a time, in an order that a seed decides."""

from collections.abc import Callable
from random import Random
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure


@define
class Schedule:
    """Work that is waiting, and results that have not arrived."""

    choose: Random = field(factory=Random)
    _lanes: dict[str, list[Callable[[], object]]] = field(factory=dict)

    def add(self, lane: str, work: Callable[[], object]) -> None:
        """Add work; in one lane it is done in the order it came."""
        self._lanes.setdefault(lane, []).append(work)

    def step(self) -> bool:
        """Do one piece of work; whether there was any."""
        if not self._lanes:
            return False
        lane = self.choose.choice(sorted(self._lanes))
        work = self._lanes[lane].pop(0)
        if not self._lanes[lane]:
            del self._lanes[lane]
        work()
        return True


@define
class Pool:
    """
    A pool of one thread, or of many; see ``bridge.concurrency.threads.Pool``.

    A result arrives some time after the work was done, as from a real thread.
    """

    _schedule: Schedule
    _name: str
    _size: int
    _number: int = 0

    def start(self) -> None:
        """See ``Pool.start``."""

    def stop(self) -> None:
        """See ``Pool.stop``."""

    def call(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Deferred[Any]:
        later: Deferred[Any] = Deferred()

        def work() -> None:
            try:
                result = f(*args, **kwargs)
            except Exception:  # noqa: BLE001
                result = Failure()
            self._schedule.add("arrived", lambda: later.callback(result))

        self._number += 1
        self._schedule.add(f"{self._name} {self._number % self._size}", work)
        return later
