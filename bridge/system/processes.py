"""
Processes that are started: their limits; and this one: its signals, its streams, what
it keeps of the memory it has used, which Python can't choose, and how it reports to a
service supervisor, such as systemd, that started it.

The protocol of supervisors is one datagram per message to the socket that
``NOTIFY_SOCKET`` names (sd_notify(3)).  Without such a socket nothing is sent.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping
from functools import cache
from types import FrameType
from typing import Any, Final, TextIO

from ..classes import define

_SAME_SIGNAL_SECONDS: Final = 1.0


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
    """
    Have the first SIGINT or SIGTERM be handled as it is now.

    What comes within a second of it is the same signal, sent twice; a later one ends
    the process at once, as its user does not wait any longer.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {n: h for n in numbers if callable(h := signal.getsignal(n))}
    first: list[float] = []

    def end(number: int, frame: FrameType | None) -> None:
        if not first:
            first.append(time.monotonic())
            handlers[signal.Signals(number)](number, frame)
        elif time.monotonic() > first[0] + _SAME_SIGNAL_SECONDS:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    for number in handlers:
        signal.signal(number, end)


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


LARGE_BYTES: Final = 256 * 1024
"""From this size on, a block is a mapping of its own."""

KEPT_BYTES: Final = 2 * 1024 * 1024
"""How much of the heap is kept when it is free: a fetch of 1 MiB, and its text."""

_ARENAS: Final = 1
"""How many heaps there may be; only one thread at a time runs Python."""

# Of malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8


def map_large_blocks() -> None:
    """
    Have every large block returned to the system as soon as it is freed.

    All threads share one heap.  Otherwise each would get one of its own, and each of
    these keeps what it once needed.

    glibc does so at first, but the first large block that is freed raises its
    threshold to that size, up to 32 MiB.  From then on such blocks lie between small
    ones in the heap, which can't shrink below the last of these, and a daemon's memory
    grows with every few large frames.  With another C library, nothing is changed.

    A fixed threshold also keeps glibc from raising another: how much of the heap's
    end may be free before it is returned.  At its default of 128 KiB, each fetch would
    return its memory and get it back page by page.
    """
    _call("mallopt", _M_MMAP_THRESHOLD, LARGE_BYTES)
    _call("mallopt", _M_TRIM_THRESHOLD, KEPT_BYTES)
    _call("mallopt", _M_ARENA_MAX, _ARENAS)


def trim() -> None:
    """
    Return what is free in the heap to the system: after statements, or when modules
    were loaded, about two megabytes at a start.  A hundred take 20 ms.

    Part of it is the source of methods that attrs has generated, kept for tracebacks.
    """
    linecache.clearcache()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Call a function of glibc, if that is the C library."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError):
        getattr(ctypes.CDLL(None), name)(*arguments)


SOCKET: Final = "NOTIFY_SOCKET"
_INTERVAL: Final = "WATCHDOG_USEC"
_PROCESS: Final = "WATCHDOG_PID"


def notify(address: str, text: str) -> None:
    """
    Send a message; a supervisor that does not listen is ignored.

    :param address: Its socket: a path, or an abstract name that starts with ``@``.
    """
    if address[:1] not in ("/", "@"):
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
    ):
        sender.setblocking(False)
        sender.sendto(text.encode(), name)


def report_failure(why: str, address: str) -> None:
    """
    Report why the daemon does not start: to the user, the journal and the supervisor.

    :param address: See ``notify``.
    """
    notify(address, f"STATUS=could not start: {' '.join(why.split())}")
    level = "<3>" if to_journal(sys.stderr, os.environ) else ""
    sys.stderr.write(f"{level}plugin-bridge: {why}\n")


def to_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether ``stream`` is what ``JOURNAL_STREAM`` names (systemd.exec(5))."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


@define(eq=False, repr=False)
class Supervisor:
    """
    The supervisor that started this process, if one did.

    :ivar address: Its socket, as ``notify`` takes it; "" when there is none.
    :ivar alive_seconds: How often it wants a sign of life; 0 when it wants none.
    """

    address: str = ""
    alive_seconds: float = 0.0
    _where: str = ""
    _problem: str = ""
    _watch: Any = None

    @classmethod
    def find(cls, environ: MutableMapping[str, str], pid: int) -> Supervisor:
        """
        Read the supervisor from the environment, and remove it for child processes.

        :param environ: Its ``NOTIFY_SOCKET`` and ``WATCHDOG_*`` are removed.
        :param pid: This process; the watchdog may be for another.
        """
        address = environ.pop(SOCKET, "")
        interval = environ.pop(_INTERVAL, "")
        process = environ.pop(_PROCESS, str(pid))
        watched = process == str(pid) and interval.isascii() and interval.isdigit()
        # Twice in each interval, as sd_watchdog_enabled(3) advises.
        seconds = int(interval) / 2_000_000 if watched else 0.0
        return cls(address, seconds)

    def ready(self, where: str, clock: Any) -> None:
        """Send READY, and from now on problems and the watchdog's sign of life."""
        self._where = where
        notify(self.address, f"READY=1\n{self._status}")
        if self.address and self.alive_seconds:
            # Loaded by a daemon, and by no command.
            from twisted.internet.task import LoopingCall

            self._watch = LoopingCall(notify, self.address, "WATCHDOG=1")
            self._watch.clock = clock
            self._watch.start(self.alive_seconds, now=True)

    def problem(self, problem: str) -> None:
        """Send what keeps the daemon from its work, if that changes; "" if nothing."""
        if problem != self._problem:
            self._problem = problem
            if self._where:
                notify(self.address, self._status)

    @property
    def _status(self) -> str:
        return f"STATUS={'; '.join(filter(None, (self._where, self._problem)))}"

    def stopping(self) -> None:
        """Send STOPPING; the signs of life continue until ``close``."""
        notify(self.address, "STOPPING=1")

    def close(self) -> None:
        """Stop sending."""
        if self._watch is not None and self._watch.running:
            self._watch.stop()


@cache
def supervisor() -> Supervisor:
    """Return the supervisor of this process; its environment is read once."""
    return Supervisor.find(os.environ, os.getpid())
