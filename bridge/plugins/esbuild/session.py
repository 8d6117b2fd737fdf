"""
Starts the bundler as the leader of a session, on a terminal of its own.

Twisted's way forks, which costs a daemon of 80 MiB as much time as the bundler needs:
all page tables are copied, and pages again as the daemon continues.  ``posix_spawn``
copies nothing.  It can make a session, and the terminal that the new leader opens first
becomes its controlling one.  But it can't change directory, so a thread with a working
directory of its own calls it.  Wherever any of this is missing, Twisted forks.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.protocol import ProcessProtocol

from ...system.processes import SESSIONS

_CLONE_FS: Final = 0x200
_STREAMS: Final = 3
_JOIN_SECONDS: Final = 0.05
_SIGNALS: Final = frozenset(signal.valid_signals())


def start(
    reactor: Any,
    protocol: ProcessProtocol,
    executable: str,
    command: Sequence[str],
    directory: str,
) -> Any:
    """
    Start a process without an environment.

    :param directory: Where it runs.
    :return: Its transport; see ``IReactorProcess.spawnProcess``.
    :raise OSError: It could not be started.
    """
    if sys.platform == "linux" and IReactorFDSet.providedBy(reactor):
        return _process_class()(
            reactor, executable, command, {}, directory, protocol, None, None, True
        )
    return reactor.spawnProcess(
        protocol, executable, command, {}, directory, usePTY=SESSIONS
    )


@cache
def _process_class() -> Any:
    """Return the class of the transport; there is none on Windows."""
    from twisted.internet.process import PTYProcess

    class SpawnedProcess(PTYProcess):
        """A process on a terminal that was spawned, if possible, and not forked."""

        def _trySpawnInsteadOfFork(  # noqa: N802
            self,
            path: Any,
            uid: int | None,
            gid: int | None,
            executable: bytes,
            args: Sequence[bytes],
            environment: Mapping[bytes, bytes],
            kwargs: Mapping[str, Any],
        ) -> bool:
            spawned = spawn(
                executable, args, environment, path, os.ttyname(kwargs["slavefd"])
            )
            if spawned is None:
                return False
            self.pid = spawned  # type: ignore[assignment]
            return True

    return SpawnedProcess


def spawn(
    executable: str | bytes,
    arguments: Sequence[str | bytes],
    environment: Mapping[Any, Any],
    directory: str | bytes,
    terminal: str,
) -> int | None:
    """
    Spawn the leader of a new session.

    :param terminal: Its controlling terminal, and its three streams.
    :return: Its process id; ``None`` when the system can't do that.
    """
    spawned: list[int] = []

    def run() -> None:
        # Only this thread changes its working directory, and ends.
        if _libc().unshare(_CLONE_FS) != 0:
            return
        try:
            os.chdir(directory)
            spawned.append(
                os.posix_spawn(
                    executable,
                    list(arguments),
                    environment,
                    file_actions=_file_actions(terminal),
                    setsid=True,
                    setsigmask=(),
                    # Otherwise it would ignore what this process ignores.
                    setsigdef=_SIGNALS,
                )
            )
        except (OSError, NotImplementedError):
            return  # Twisted's fork reports what is wrong

    thread = threading.Thread(target=run, name="spawn")
    thread.start()
    while thread.is_alive():
        # Signals are handled here only, and under a tracer (coverage) a thread of
        # Python 3.11 does not end before they are.
        thread.join(_JOIN_SECONDS)
    return spawned[0] if spawned else None


@cache
def _libc() -> Any:
    return ctypes.CDLL(None)


def _file_actions(terminal: str) -> list[tuple[Any, ...]]:
    """Return what is done with files: the terminal is all that the process gets."""
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd >= _STREAMS and _is_inherited(fd):
            actions.append((os.POSIX_SPAWN_CLOSE, fd))
    return actions


def _is_inherited(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False  # it was the listing's own, or another thread's
