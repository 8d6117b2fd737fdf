"""Writes the page's log lines, in order, off the reactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define
from ..protocol.errors import BridgeError, Code, unavailable
from ..protocol.limits import LOG_UNWRITTEN_BYTES
from .pagefile import PageFile


@define(eq=False, repr=False)
class LogWriter:
    """
    Appends to a page file.

    :ivar file: Written to in that thread only.
    :ivar in_thread: Calls functions in a thread, the same for all: in their order.
    """

    file: PageFile
    _in_thread: Callable[..., Deferred[Any]]
    _unwritten: int = 0
    _is_former: bool = False
    _not_rotated: str = ""
    _closed: bool = False

    _log: ClassVar[Logger] = Logger()

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
            return fail(unavailable("the log file is closed"))
        if self.overloaded:
            return fail(unavailable("log lines come faster than they can be written"))
        self._unwritten += len(lines)
        writing = self._in_thread(self.file.append, lines)
        return writing.addBoth(self._written, len(lines))

    def _written(self, result: Any, size: int) -> Any:
        self._unwritten -= size
        if not isinstance(result, Failure):
            if self.file.is_former and not self._is_former:
                self._reopened(done=False)
            self._is_former = self.file.is_former
            why = self.file.not_rotated
            if why and why != self._not_rotated:
                text = "the page's log cannot be rotated, and will lose lines: {why}"
                self._log.warn(text, why=why)
            self._not_rotated = why
        # One of ours, that there is no thread for it, is answered as it is.
        elif not result.check(BridgeError):
            error = result.value
            reason = getattr(error, "strerror", None) or type(error).__name__
            message = f"the log file could not be written: {reason}"
            raise BridgeError(Code.INTERNAL, message)
        return result

    def reopen(self) -> None:
        """Continue, with the next write, in the file that has the name now."""
        if not self._closed:
            self._in_thread(self.file.reopen).addCallbacks(
                self._reopened,
                lambda failure: self._log.failure(
                    "the page's log file could not be reopened", failure
                ),
            )

    def _reopened(self, done: bool) -> None:
        self._is_former = not done
        if done:
            self._log.info("the page's log file is reopened")
        else:
            self._log.warn("the page's log goes on in its former file")

    def close(self) -> Deferred[None]:
        """
        Accept no more lines.

        :return: Fires when all accepted lines are written, and the file is
            closed; closing again does nothing.
        """
        if self._closed:
            return succeed(None)
        self._closed = True
        return self._in_thread(self.file.close)
