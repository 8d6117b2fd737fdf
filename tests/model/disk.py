"""
File-system calls that fail, or at which the process dies.

Only calls that change something are counted, all over the process: the calls of the
daemon's own code and those of the standard library's for it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

from attrs import define, field

CHANGING: Final = ("fsync", "link", "mkdir", "rename", "replace", "rmdir", "unlink")
FREEING: Final = frozenset({"rmdir", "unlink"})
"""What a full disk does not refuse."""


@define
class Plan:
    """
    Which calls go wrong, and how.

    :ivar first: The first call that does, counted from 0.
    :ivar count: How many do, from it on.
    :ivar number: The ``errno`` of their failure; ``None`` for a kill.
    """

    first: int
    count: int = 1
    number: int | None = None
    calls: int = field(default=0, init=False)
    failures: int = field(default=0, init=False)

    def reached(self, name: str) -> None:
        """
        Note a call that is about to be made.

        :raise OSError: It fails.
        """
        if self.number is not None and name in FREEING:
            return
        at = self.calls
        self.calls += 1
        if not self.first <= at < self.first + self.count:
            return
        if self.number is None:
            os.kill(os.getpid(), signal.SIGKILL)
        self.failures += 1
        raise OSError(self.number, os.strerror(self.number or 0))


@contextmanager
def going_wrong(plan: Plan | None) -> Iterator[None]:
    """Let the calls of this process go as planned."""
    if plan is None:
        yield
        return
    real_open = os.open

    def watched_open(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            plan.reached("open")
        return real_open(path, flags, *more, **named)

    with mock.patch.multiple(
        os, open=watched_open, **{n: _watched(plan, n) for n in CHANGING}
    ):
        yield


def _watched(plan: Plan, name: str) -> Callable[..., Any]:
    real = getattr(os, name)

    def call(*arguments: Any, **named: Any) -> Any:
        plan.reached(name)
        return real(*arguments, **named)

    return call
