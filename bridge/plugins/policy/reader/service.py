"""
The bundler as a reader: one process for one scan, which never sees a file.

It gets the sources' texts on its standard input, in an empty environment, and ends when
that is closed, so also when the daemon dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProcessTransport, IReactorProcess, IReactorTime
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from ....protocol.limits import SCAN_SECONDS
from ...esbuild.executable import Executable
from ...esbuild.pins import BINARY_NAME, VERSION
from ...esbuild.process import limit_memory, settled
from .encoding import OversizeError, PacketError
from .queries import Queries


class ReadingReactor(IReactorProcess, IReactorTime):
    """What a scan needs of a reactor: processes and time."""


class TooComplexError(Exception):
    """
    The bundler took too much time or memory.

    :ivar index: Of the first source that it had not read.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


async def converse(
    reactor: ReadingReactor, executable: Executable, queries: Queries[Any]
) -> None:
    """
    Ask the bundler everything, within the limits on its time and memory.

    When this is cancelled the bundler is killed, and dead when this ends.

    :raise TooComplexError: It did not get to the end.
    :raise PacketError: It is not the pinned version.
    :raise OSError: It cannot be started.
    """
    service = _Service(queries)
    command: Sequence[str] = (BINARY_NAME, f"--service={VERSION}")
    reactor.spawnProcess(service, executable.path, command, {}, "/")
    deadline = reactor.callLater(SCAN_SECONDS, service.kill)
    try:
        await settled(service.ended, service.kill)
    finally:
        if deadline.active():
            deadline.cancel()
    service.check()
    if not queries.is_over:
        raise TooComplexError(queries.unanswered)


@define(eq=False)
class _Service(ProcessProtocol):
    """The process, as long as there is something to ask it."""

    queries: Queries[Any]
    transport: IProcessTransport | None = field(default=None, init=False)
    ended: Deferred[Any] = field(factory=Deferred, init=False)
    failure: PacketError | None = field(default=None, init=False)

    def connectionMade(self) -> None:
        """Limit it before it has anything to read."""
        process: Any = self.transport
        limit_memory(process.pid)
        process.writeSequence(self.queries.begin())

    def outReceived(self, data: bytes) -> None:
        """Go on with the next sources; its standard error is read and dropped."""
        if self._is_done():
            return
        process: Any = self.transport
        try:
            process.writeSequence(self.queries.receive(data))
        except PacketError as e:
            # A source can blow its own output up; then the service is not at fault.
            if not isinstance(e, OversizeError):
                self.failure = e
            self.kill()
        if self._is_done():
            # It has nothing else to do; its end would take it a while.
            self.kill()

    def _is_done(self) -> bool:
        return self.failure is not None or self.queries.is_over

    def processEnded(self, reason: Failure) -> None:
        """Report the end; how it ended does not matter, what it has answered does."""
        self.ended.callback(None)

    def check(self) -> None:
        """
        Raise what was wrong with its answers.

        :raise PacketError: They are not those of the pinned version.
        """
        if self.failure is not None:
            raise self.failure

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        process: Any = self.transport
        # Twisted sets this to ``None`` when the process has been waited for.
        if process.pid is not None:
            process.signalProcess("KILL")
