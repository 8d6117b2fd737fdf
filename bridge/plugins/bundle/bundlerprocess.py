"""
One run of the bundler: its arguments, its output and its exit.

On POSIX it runs on a terminal of its own.  That makes it the leader of a session, so
that whatever it starts can be killed with it; and the system hangs the session up
(SIGHUP) when the daemon is gone, however the daemon died.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone
from twisted.internet.interfaces import (
    IProcessTransport,
)
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from ...protocol.limits import (
    BUILD_OUTPUT_CHARACTERS,
    BUILD_SECONDS,
    BUNDLER_MEMORY_BYTES,
    MIB,
)
from ...protocol.text import printable
from ...settings.host import HostProfile
from ..esbuild.executable import Executable
from ..esbuild.language import TARGET, TSCONFIG_RAW, loader_arguments
from ..esbuild.process import (
    CRASHED,
    crash_in,
    kill_group,
    limit_memory,
    settled,
)
from ..esbuild.session import start
from ..policy.reader.service import ReadingReactor
from .bundleroutput import showable
from .inputs.metafile import BuildError
from .plugintable import TABLE_FILE
from .prerequisites import API_ENTRY, HOST_ENTRY

METAFILE: Final = "meta.json"

_UTF8_BYTES: Final = 4


class BuildReactor(ReadingReactor):
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
        f"--target={TARGET}",
        # Otherwise a plugin's own tsconfig.json would take part.
        f"--tsconfig-raw={TSCONFIG_RAW}",
        *loader_arguments(),
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
    memory: int = BUNDLER_MEMORY_BYTES,
) -> str:
    """
    Run the bundler until it exits, or until its deadline.

    Cancelling kills the bundler, and waits until it is dead.

    :param command: The name the process goes by, and its arguments.
    :param directory: Where it runs.
    :param memory: Bytes of data it may have, where the system can limit them.
    :return: Its output, which consists of warnings.
    :raise BuildError: It failed, crashed, took too long or needed too much memory.
    """
    run = _BundlerProcess()
    try:
        process = start(reactor, run, executable.path, command, str(directory))
    except OSError as e:
        raise BuildError(f"esbuild could not be started: {e.strerror or e}") from None
    limit_memory(process.pid, memory)
    deadline = reactor.callLater(BUILD_SECONDS, run.expire)
    try:
        ended = await settled(run.ended, run.kill)
    finally:
        if deadline.active():
            deadline.cancel()
    if run.expired:
        raise BuildError(f"esbuild did not finish within {BUILD_SECONDS:g}s")
    if not isinstance(ended, ProcessDone):
        raise BuildError(_failure(run, ended, memory))
    return run.shown_output()


def _failure(run: _BundlerProcess, ended: Any, memory: int) -> str:
    crash = crash_in(run.text()) if ended.exitCode == CRASHED else None
    if crash is None:
        return f"esbuild failed:\n{run.shown_output() or _cause(ended)}"
    if crash.memory:
        return f"esbuild needed more than {memory // MIB} MiB of memory"
    return f"esbuild crashed: {crash.words}"


def _cause(ending: Any) -> str:
    if ending.signal is not None:
        return f"ended by signal {ending.signal}"
    return f"exit status {ending.exitCode}"


@define(eq=False)
class _BundlerProcess(ProcessProtocol):
    """Collects the output of the process, and reports its exit."""

    transport: IProcessTransport | None = field(default=None, init=False)
    ended: Deferred[Any] = field(factory=Deferred, init=False)
    expired: bool = field(default=False, init=False)
    _output: bytearray = field(factory=bytearray, init=False)

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        """Keep the beginning of the output of both streams."""
        room = BUILD_OUTPUT_CHARACTERS * _UTF8_BYTES - len(self._output)
        self._output += data[: max(0, room)]

    def processEnded(self, reason: Failure) -> None:
        """Report that the process has exited and all output has arrived."""
        # As a value: to end is no failure, however it ends.
        self.ended.callback(reason.value)

    def text(self) -> str:
        """Return the beginning of the output, with the line ends of a text."""
        return self._output.decode("utf-8", "replace").replace("\r\n", "\n")

    def shown_output(self) -> str:
        """Return the output that may be shown; see ``showable``."""
        text = printable(self.text(), "\n\t")
        cut = len(self._output) >= BUILD_OUTPUT_CHARACTERS * _UTF8_BYTES
        return showable(text, cut=cut)[:BUILD_OUTPUT_CHARACTERS].strip()

    def expire(self) -> None:
        """Kill the process because it took too long."""
        self.expired = True
        self.kill()

    def kill(self) -> None:
        """Kill the process and everything it started."""
        process: Any = self.transport
        if process.pid is not None:
            kill_group(process.pid, process.signalProcess)
        # What left the session may hold the terminal open for ever.
        process.loseConnection()
