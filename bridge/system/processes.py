"""Processes that are started: their sessions and their memory; and signals."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

SESSIONS: Final = os.name == "posix"
"""Whether a process can lead a session, which ends with its terminal."""


def kill_session(leader: int) -> None:
    """
    Kill a process that leads a session, and what is still in its group.

    Does nothing where there are no sessions.
    """
    if sys.platform == "win32":  # pragma: no cover
        return
    # There is no group just after the start, before the child leads anything.
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)


def limit_data(pid: int, most: int) -> None:
    """
    Limit the memory of another process; on Linux only.

    It may have ended already.  A lower limit that it has stays.

    :param most: Bytes of data: heap, stacks and private mappings.
    """
    if sys.platform != "linux":  # pragma: no cover
        return
    import resource

    # Not the address space: Go reserves more than a gigabyte of it at its start.
    kind = resource.RLIMIT_DATA
    # It is gone, or has a limit that this process may not touch.
    with contextlib.suppress(OSError):
        now = resource.prlimit(pid, kind)
        given = [most, *(n for n in now if n != resource.RLIM_INFINITY)]
        resource.prlimit(pid, kind, (min(given), min(given)))


def on_hangup(handler: Callable[[int, FrameType | None], object]) -> None:
    """Have SIGHUP handled; does nothing on Windows, which has no such signal."""
    if sys.platform == "win32":  # pragma: no cover
        return
    signal.signal(signal.SIGHUP, handler)


def ends_with_terminal() -> bool:
    """
    Whether this process has a terminal, whose closing is to end it.

    Call it before ``on_hangup``: nohup(1) has SIGHUP ignored.
    """
    if sys.platform == "win32":  # pragma: no cover
        return False
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return False
    try:
        os.close(os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
