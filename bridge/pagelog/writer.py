"""Writes the page's log lines, in order, off the reactor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from attrs import field
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from ..classes import define
from ..concurrency.singleflight import SingleFlight
from ..protocol.errors import BridgeError, Code
from ..protocol.limits import LOG_UNWRITTEN_BYTES
from .pagefile import PageFile


@define(eq=False, repr=False)
class _Batch:
    lines: bytes
    done: Deferred[None] = field(factory=Deferred)


@define(eq=False, repr=False)
class LogWriter:
    """
    Appends to a page file, one write at a time.

    Lines that come while a write runs share the next one.
    """

    _file: PageFile
    _in_thread: Callable[..., Deferred[Any]]
    _waiting: list[_Batch] = field(factory=list)
    _unwritten: int = 0
    _is_moved: bool = False
    _closed: bool = False
    _flight: SingleFlight = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._flight = SingleFlight("writing the page's log", self._write_waiting)

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

        :return: Fires when they are in the file.  Fails with ``BridgeError``:
            ``internal`` when they could not be written, ``unavailable`` when too much
            waits already, and after ``close``.
        """
        if self._closed:
            return fail(BridgeError(Code.UNAVAILABLE, "the log file is closed"))
        if self.overloaded:
            late = "log lines come faster than they can be written"
            return fail(BridgeError(Code.UNAVAILABLE, late))
        batch = _Batch(lines)
        self._unwritten += len(lines)
        self._waiting.append(batch)
        self._flight.ask()
        return batch.done

    def reopen(self) -> None:
        """Continue, with the next write, in the file that has the name now."""
        if not self._closed:
            self._is_moved = True
            self._flight.ask()

    def close(self) -> Deferred[None]:
        """
        Accept no more lines.

        :return: Fires when all accepted lines are written, and the file is
            closed; closing again does nothing.
        """
        if self._closed:
            return succeed(None)
        self._closed = True
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        await self._flight.idle()
        self._file.close()

    async def _write_waiting(self) -> None:
        if self._is_moved:
            await self._reopen()
        batches, self._waiting = self._waiting, []
        if not batches:
            return
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

    async def _reopen(self) -> None:
        self._is_moved = False
        try:
            await self._in_thread(self._file.reopen)
        except Exception:  # noqa: BLE001
            self._log.failure("the page's log file could not be reopened")
        else:
            self._log.info("the page's log file is reopened")
