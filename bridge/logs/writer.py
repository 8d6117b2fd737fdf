"""Writes the page's log lines, in order, off the reactor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from attrs import define, field
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from ..protocol.errors import BridgeError, Code
from ..protocol.limits import LOG_UNWRITTEN_BYTES
from .pagefile import PageFile


@define(auto_exc=True)
class LogWriterOverloadedError(BridgeError):
    """Log lines come faster than they can be written."""


@define(eq=False)
class _Batch:
    lines: bytes
    done: Deferred[None] = field(factory=Deferred)


@define(eq=False)
class LogWriter:
    """
    Appends to a page file, one write at a time.

    Lines that come while a write runs share the next one.
    """

    _file: PageFile
    _in_thread: Callable[..., Deferred[Any]]
    _waiting: list[_Batch] = field(factory=list)
    _unwritten: int = 0
    _idle: Deferred[None] | None = None
    _closed: bool = False

    _log: ClassVar[Logger] = Logger()

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._file.path

    @property
    def size(self) -> int:
        """How many bytes the file is."""
        return self._file.size

    @property
    def overloaded(self) -> bool:
        """Whether so much waits to be written that more is refused."""
        return self._unwritten > LOG_UNWRITTEN_BYTES

    def write(self, lines: bytes) -> Deferred[None]:
        """
        Append whole lines.

        :return: Fires when they are in the file.  Fails with
            ``LogWriterOverloadedError`` when too much waits already, else with
            ``BridgeError``: ``internal`` when they could not be written,
            ``unavailable`` after ``close``.
        """
        if self._closed:
            return fail(BridgeError(Code.UNAVAILABLE, "the log file is closed"))
        if self.overloaded:
            late = "log lines come faster than they can be written"
            return fail(LogWriterOverloadedError(Code.UNAVAILABLE, late))
        batch = _Batch(lines)
        self._unwritten += len(lines)
        self._waiting.append(batch)
        if self._idle is None:
            self._idle = Deferred()
            Deferred.fromCoroutine(self._drain(self._idle))
        return batch.done

    def reopen(self) -> None:
        """Go on in the file that has the name now, and say so."""
        if not self._closed:
            self._in_thread(self._file.reopen)
            self._log.info("the page's log file is opened anew")

    def close(self) -> Deferred[None]:
        """
        Take no more lines.

        :return: Fires when all that were taken are written, and the file is
            closed; closing again does nothing.
        """
        if self._closed:
            return succeed(None)
        self._closed = True
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        if self._idle is not None:
            await self._idle
        self._file.close()

    async def _drain(self, idle: Deferred[None]) -> None:
        while self._waiting:
            batches, self._waiting = self._waiting, []
            lines = b"".join(batch.lines for batch in batches)
            try:
                await self._in_thread(self._file.append, lines)
            except Exception as e:  # noqa: BLE001
                reason = getattr(e, "strerror", None) or type(e).__name__
                message = f"the log file could not be written: {reason}"
                for batch in batches:
                    self._unwritten -= len(batch.lines)
                    batch.done.errback(BridgeError(Code.INTERNAL, message))
            else:
                for batch in batches:
                    self._unwritten -= len(batch.lines)
                    batch.done.callback(None)
        self._idle = None
        idle.callback(None)
