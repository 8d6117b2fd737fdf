"""Processes that are started: their limits; and this one: its signals, its streams."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from twisted.internet.error import ReactorNotRunning

PYTHON_IS_CHILD: Final = sys.platform != "win32"
"""Whether a Python that is started has the child's id; on Windows a launcher may."""


def limit_process(pid: int | None, memory_bytes: int, cpu_seconds: int) -> None:
    """
    Limit the memory and the processor time of another process; on Linux only.

    It may have ended already.  Lower limits that it has stay.

    :param pid: Of a process that has not been waited for yet; ``None``: it has, as
        Twisted's transports have it.
    :param memory_bytes: Of data: heap, stacks and private mappings.
    :param cpu_seconds: After these it is killed.
    """
    if sys.platform != "linux" or pid is None:  # pragma: no cover
        return
    import resource

    for kind, most in (
        # Not the address space: Go reserves more than a gigabyte of it at its start.
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_CPU, cpu_seconds),
    ):
        # It is gone, or has a limit that this process may not touch.
        with contextlib.suppress(OSError):
            now = resource.prlimit(pid, kind)
            given = min(most, *(n for n in now if n != resource.RLIM_INFINITY), most)
            # Hard and soft are equal: Go ignores the signal of the soft one.
            resource.prlimit(pid, kind, (given, given))


def on_hangup(handler: Callable[[int, FrameType | None], object]) -> None:
    """Have SIGHUP handled; does nothing on Windows, which has no such signal."""
    if sys.platform == "win32":  # pragma: no cover
        return
    signal.signal(signal.SIGHUP, handler)


def end_once() -> None:
    """Have the first SIGINT or SIGTERM be handled as it is now, and no further one."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.getsignal(number) for number in numbers}

    def end(number: int, frame: FrameType | None) -> None:
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)
        handler = handlers[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in numbers:
        if callable(handlers[number]):
            signal.signal(number, end)


def stop(reactor: Any) -> None:
    """Stop a reactor, which may be stopping."""
    with contextlib.suppress(ReactorNotRunning):
        reactor.stop()


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


def prepare_process() -> None:
    """
    Make up for what this process may have been started with.

    Standard streams that are closed lead nowhere: Python has none then, and the next
    file that is opened would get its descriptor.  A umask takes no right from the owner
    of a file.
    """
    os.umask(os.umask(0o077) & 0o077)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
