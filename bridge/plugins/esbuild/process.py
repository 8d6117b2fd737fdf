"""Shared by all runs of the bundler: limits, termination, crash messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from attrs import frozen
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from ...protocol.limits import BUNDLER_MEMORY_BYTES
from ...system.processes import kill_session, limit_data

"""Whether a process can lead a session, and so be killed with all it started."""

CRASHED: Final = 2
"""The status a Go program that crashed exits with; the bundler's own failures are 1."""

_CRASH: Final = re.compile(r"^(?:fatal error|panic): (?:runtime: )?(.*)$", re.MULTILINE)
_MEMORY: Final = re.compile("out of memory|cannot allocate memory|newosproc")
_CRASH_CHARACTERS: Final = 100

T = TypeVar("T")


@frozen
class Crash:
    """
    Why a Go program crashed.

    :ivar words: In its own words, without the trace of its stacks: one short line.
    :ivar memory: Whether it needed more memory than there is for it.
    """

    words: str
    memory: bool


def crash_in(text: str) -> Crash | None:
    """
    Find why a Go program crashed, in what it wrote before it exited.

    :param text: What it wrote, or the beginning of that.
    :return: ``None`` when it does not look like a crash.
    """
    found = _CRASH.search(text)
    if found is None:
        return None
    words = "".join(c for c in found[1] if " " <= c <= "~")[:_CRASH_CHARACTERS]
    return Crash(words, memory=_MEMORY.search(words) is not None)


def kill_group(leader: int, signal_leader: Callable[[str], None]) -> None:
    """
    Kill a process and all it started, as far as the system knows them.

    :param leader: The process id; of a process that has not been waited for yet.
    :param signal_leader: Sends a signal, by its name without ``SIG``, to that process.
    """
    kill_session(leader)
    signal_leader("KILL")


def limit_memory(pid: int | None, most: int = BUNDLER_MEMORY_BYTES) -> None:
    """
    Limit the memory of a process, from outside; on Linux only.

    It may have ended already.  A lower limit that it has stays.

    :param pid: The process id, of a process that has not been waited for yet; ``None``:
        it has, as Twisted's transports have it.  One may end while it is started.
    :param most: Bytes of data: heap, stacks and private mappings.
    """
    if pid is not None:
        limit_data(pid, most)


async def settled(work: Deferred[T], stop: Callable[[], None]) -> T:
    """
    Wait for work to end, even when cancelled meanwhile.

    :param stop: Called on cancellation, to make the end come sooner.
    :raise CancelledError: It was cancelled meanwhile; the result is lost.
    """
    outcome: list[T | Failure] = []
    waiting: Deferred[None] = Deferred()
    cancelled: CancelledError | None = None

    def end(result: T | Failure) -> None:
        outcome.append(result)
        waiting.callback(None)

    work.addBoth(end)
    while not outcome:
        try:
            await waiting
        except CancelledError as e:
            cancelled = e
            waiting = Deferred()
            stop()
    if cancelled is not None:
        raise cancelled
    if isinstance(outcome[0], Failure):
        outcome[0].raiseException()
    return outcome[0]
