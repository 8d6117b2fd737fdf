"""
One run of the bundler: its arguments, its output, its end.

On POSIX it runs on a terminal of its own.  That makes it the leader of a session, so
that whatever it starts can be killed with it; and the system hangs the session up
(SIGHUP) when the daemon is gone, however the daemon died.
"""

from __future__ import annotations

import contextlib
import os
import signal
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import define, field
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ProcessDone
from twisted.internet.interfaces import (
    IProcessTransport,
    IReactorProcess,
    IReactorTime,
)
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from ..host import HostProfile
from ..protocol.limits import BUILD_OUTPUT_CHARACTERS, BUILD_SECONDS
from .complaints import showable
from .executable import Executable
from .metafile import BuildError
from .table import TABLE_FILE

HOST_ENTRY: Final = "host/packages/host/src/index.ts"
API_ENTRY: Final = "host/packages/api/src/index.ts"
METAFILE: Final = "meta.json"

_TERMINAL: Final = os.name == "posix"
_UTF8_BYTES: Final = 4

T = TypeVar("T")


class BuildReactor(IReactorProcess, IReactorTime):
    """What a build needs of a reactor: processes and time."""


def arguments(profile: HostProfile, staging: Path) -> list[str]:
    """
    What follows the bundler's name on its command line.

    :param staging: Where it is to write the bundle, its map and the metafile.
    """
    return [
        HOST_ENTRY,
        "--bundle",
        "--format=iife",
        "--target=es2022",
        # Otherwise a plugin's own tsconfig.json would have a say.
        '--tsconfig-raw={"compilerOptions":'
        '{"target":"es2022","useDefineForClassFields":true}}',
        "--platform=browser",
        "--minify",
        "--sourcemap=linked",
        f"--alias:{profile.api_module}=./{API_ENTRY}",
        f"--alias:{profile.table_module}=./{TABLE_FILE}",
        f"--outfile={staging / profile.bundle_name}.js",
        f"--metafile={staging / METAFILE}",
        "--log-level=warning",
        "--color=false",
    ]


async def run_bundler(
    reactor: BuildReactor,
    executable: Executable,
    command: Sequence[str],
    directory: Path,
) -> str:
    """
    Run the bundler to its end, and not longer than its deadline.

    When this is cancelled the bundler is killed, and dead when this ends.

    :param command: The name the process goes by, and its arguments.
    :param directory: Where it runs.
    :return: What it said, which is warnings.
    :raise BuildError: It failed or took too long.
    """
    run = _Run()
    try:
        reactor.spawnProcess(
            run, executable.path, command, {}, str(directory), usePTY=_TERMINAL
        )
    except OSError as e:
        raise BuildError(f"esbuild could not be started: {e.strerror or e}") from None
    deadline = reactor.callLater(BUILD_SECONDS, run.expire)
    try:
        ended = await settled(run.ended, run.kill)
    finally:
        if deadline.active():
            deadline.cancel()
    if run.expired:
        raise BuildError(f"esbuild did not finish within {BUILD_SECONDS:g}s")
    if not isinstance(ended, ProcessDone):
        said = run.said() or _cause(ended)
        raise BuildError(f"esbuild failed:\n{said}")
    return run.said()


def _cause(ending: Any) -> str:
    if ending.signal is not None:
        return f"ended by signal {ending.signal}"
    return f"exit status {ending.exitCode}"


@define(eq=False)
class _Run(ProcessProtocol):
    """The process, as its output and its end are told."""

    transport: IProcessTransport | None = field(default=None, init=False)
    ended: Deferred[Any] = field(factory=Deferred, init=False)
    expired: bool = field(default=False, init=False)
    _output: bytearray = field(factory=bytearray, init=False)

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        """Keep the beginning of what it says, on whichever stream."""
        room = BUILD_OUTPUT_CHARACTERS * _UTF8_BYTES - len(self._output)
        self._output += data[: max(0, room)]

    def processEnded(self, reason: Failure) -> None:
        """Tell that it is over and all it said has come."""
        # As a value: to end is no failure, however it ends.
        self.ended.callback(reason.value)

    def said(self) -> str:
        """What it said, as far as it may be shown; see ``complaints``."""
        text = self._output.decode("utf-8", "replace").replace("\r\n", "\n")
        visible = (c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
        cut = len(self._output) >= BUILD_OUTPUT_CHARACTERS * _UTF8_BYTES
        return showable("".join(visible), cut=cut)[:BUILD_OUTPUT_CHARACTERS].strip()

    def expire(self) -> None:
        """End it, because it took too long."""
        self.expired = True
        self.kill()

    def kill(self) -> None:
        """Kill it and all it started."""
        process: Any = self.transport
        if process.pid is not None:
            _kill_group(process.pid, process.signalProcess)
        # What left the session may hold the terminal open for ever.
        process.loseConnection()


def _kill_group(leader: int, signal_leader: Callable[[str], None]) -> None:
    if _TERMINAL:
        # It is not there just after the start, before the child leads anything.
        with contextlib.suppress(OSError):
            os.killpg(leader, signal.SIGKILL)
    signal_leader("KILL")


async def settled(work: Deferred[T], stop: Callable[[], None]) -> T:
    """
    Wait for work to end, and when cancelled meanwhile still for its end.

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
