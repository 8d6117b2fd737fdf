"""
File-system calls that fail, or at which the process dies.

Only calls that change something are counted, those of the standard library too.
"""

import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any, Final
from unittest import mock

from attrs import define, field

CHANGING: Final = ("fsync", "link", "mkdir", "rename", "replace", "rmdir", "unlink")
FREEING: Final = ("rmdir", "unlink")
"""What a full disk does not refuse."""

ALL: Final = sys.maxsize


@define
class Plan:
    """
    Which calls go wrong, and how.

    :ivar first: The first call that does, counted from 0.
    :ivar count: How many do, from it on.
    :ivar number: The ``errno`` of their failure; ``None`` for a kill.
    :ivar spared: The names of those that never fail, and are not counted then.
    :ivar calls: Those so far, as (name, file name).
    :ivar failures: How many have failed.
    """

    first: int
    count: int = 1
    number: int | None = None
    spared: Collection[str] = FREEING
    calls: list[tuple[str, str]] = field(factory=list, init=False, eq=False, repr=False)
    failures: int = field(default=0, init=False, eq=False, repr=False)
    # Files are synced in threads.
    _counting: Lock = field(factory=Lock, init=False, eq=False, repr=False)

    def reached(self, name: str, place: Any) -> None:
        """
        Count a call that is about to be made.

        :raise OSError: It fails.
        """
        if self.number is not None and name in self.spared:
            return
        with self._counting:
            at = len(self.calls)
            self.calls.append((name, os.path.basename(str(place))))
        if not self.first <= at < self.first + self.count:
            return
        if self.number is None:
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            self.failures += 1
            raise OSError(self.number, os.strerror(self.number))


def watching() -> Plan:
    """Make a plan by which nothing goes wrong."""
    return Plan(0, 0)


def full(first: int = 0, count: int = 1) -> Plan:
    """Make a plan by which calls fail as on a full disk, whatever they do."""
    return Plan(first, count, errno.ENOSPC, spared=())


@contextmanager
def going_wrong(plan: Plan | None) -> Iterator[Plan]:
    """Let the calls of this process go as planned."""
    watched = plan or watching()
    real_open = os.open

    def watched_open(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            watched.reached("open", path)
        return real_open(path, flags, *more, **named)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(os, "open", watched_open))
        for name in CHANGING:
            stack.enter_context(mock.patch.object(os, name, _watched(watched, name)))
        yield watched


def _watched(plan: Plan, name: str) -> Callable[..., Any]:
    real = getattr(os, name)

    def call(*arguments: Any, **named: Any) -> Any:
        plan.reached(name, arguments[-1])
        return real(*arguments, **named)

    return call


Report = Callable[[Any], None]
"""Accepts JSON from a process that may die at any time."""


def in_a_child(work: Callable[[Report], object], plan: Plan) -> list[Any]:
    """
    Do something in a child, which is killed as planned.

    :return: What the child has reported until its end.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)

            def report(value: Any) -> None:
                os.write(writing, json.dumps(value).encode() + b"\n")

            with going_wrong(plan):
                work(report)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        reported = [json.loads(line) for line in pipe]
    _, status = os.waitpid(child, 0)
    assert status == 0 or os.WIFSIGNALED(status), "the child failed"
    return reported
