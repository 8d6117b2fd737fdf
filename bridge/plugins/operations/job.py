"""One plugin operation: what was asked for, how far it is, and what it came to."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import field
from twisted.internet.defer import Deferred, DeferredLock, ensureDeferred

from ...approval.prompts import Operation
from ...classes import define, frozen
from ...concurrency.shares import Holder
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import OUTCOMES
from ...protocol.steps import Step

T = TypeVar("T")

# Not EIO: of a disk that breaks, it matters which file was read or written.
_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))


@frozen
class Progress:
    """
    A report to pages about one step.

    :ivar op: The operation.
    :ivar id: The plugin's, the same during one operation; null during an install.
    :ivar step: What it does now.
    :ivar message: For display; of what a caller sent it shows only the host.
    :ivar operation: The daemon's name for it, for ``cancel``.
    :ivar ref: The name that the page which asked for it has chosen; null without one.
    :ivar cancellable: Whether it can still be cancelled.
    """

    op: Operation
    id: str | None
    step: Step
    message: str
    operation: str
    ref: str | None
    cancellable: bool


Watch = Callable[[Progress], object]
"""Receives the progress of operations."""


class End(StrEnum):
    """How an operation ended."""

    DONE = "done"
    REFUSED = "refused"
    CANCELLED = "cancelled"


@frozen
class Outcome:
    """
    What an operation came to.

    :ivar at: When, in milliseconds since the epoch.
    :ivar result: What its body returned.
    :ivar error: Why it was refused or cancelled; ``None`` when it is done.
    """

    end: End
    at: int
    result: Any = None
    error: BridgeError | None = None


@frozen
class Request:
    """
    What is asked for, and by whom.

    :ivar subject: All that distinguishes it from other requests for this operation.
    :ivar plugin_id: For progress records; ``None`` when it is not known from the start.
    :ivar ref: The page's own name for the operation.  The same name and subject are
        the same operation, however often it is asked for.
    :ivar caller: Who asks; it may have so many operations at once, and its prompts
        that were not shown yet end with it.
    :ivar from_page: Whether a page asks, as prompts name it; it is one when nothing is
        known of the caller.
    """

    op: Operation
    subject: tuple[Any, ...] = ()
    plugin_id: str | None = None
    ref: str | None = None
    caller: Holder | None = None
    from_page: bool = field()

    @from_page.default
    def _from_page(self) -> bool:
        return self.caller is None or self.caller.is_page

    def is_same(self, other: Request) -> bool:
        """Whether the other one asks for the same."""
        return (self.op, self.subject) == (other.op, other.subject)


def cancelled(detail: str) -> BridgeError:
    """Return the refusal of an operation that was cancelled: ``cancelled: …``."""
    return plugin_error(Prefix.CANCELLED, detail)


def reason(error: Exception) -> str | None:
    """
    Return why something failed, without a path or other detail.

    :return: ``None`` for a defect, which is to be logged in full.
    """
    if isinstance(error, BridgeError):
        return error.message
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return os.strerror(error.errno)
    return None


@define(eq=False)
class Job:
    """
    One operation, under way or ended.

    :ivar name: The daemon's name for it, which no other operation has.
    :ivar started_at: Milliseconds since the epoch.
    :ivar why_stopped: What its callers are refused with, once it has to end.
    :ivar clones: Trees that are to be removed unless it is done.
    :ivar step: The last step it has reached.
    :ivar failed_at: The step before the rollback, if there was one.
    :ivar message: The last message to pages.
    :ivar outcome: ``None`` while it is under way.
    :ivar refs: The names by which it was joined.
    """

    request: Request
    _watch: Watch
    name: str = ""
    started_at: int = 0
    why_stopped: BridgeError | None = None
    clones: list[Path] = field(factory=list)
    step: Step = Step.AWAITING_CONFIRMATION
    failed_at: Step | None = None
    message: str = ""
    outcome: Outcome | None = None
    refs: set[str] = field(factory=set)
    _committing: bool = False
    _waiting: Deferred[Any] | None = None
    _held: list[DeferredLock] = field(factory=list)
    _ended: Deferred[None] = field(factory=Deferred)

    @property
    def cancellable(self) -> bool:
        """Whether it can still be cancelled."""
        return not (self._committing or self.why_stopped or self.outcome)

    def reached(
        self, step: Step, message: str, asking: Operation | None = None
    ) -> None:
        """
        Report a step to pages.

        :param asking: What a prompt within this operation is about.
        """
        self.step = step
        self.message = message
        self._watch(
            Progress(
                asking or self.request.op,
                self.request.plugin_id,
                step,
                message,
                self.name,
                self.request.ref,
                self.cancellable,
            )
        )

    def roll_back(self) -> None:
        """Report that what was done is being taken back."""
        self.failed_at = self.step
        self.reached(Step.ROLLBACK, "Putting everything back")

    def raise_if_stopping(self) -> None:
        """
        Check that the operation may go on.

        :raise BridgeError: ``cancelled``, or ``unavailable``: the daemon is shutting
            down.
        """
        if self.why_stopped is not None:
            raise self.why_stopped

    async def until(
        self, begin: Callable[[], Deferred[T] | Coroutine[Deferred[Any], Any, T]]
    ) -> T:
        """
        Wait for something that can be cancelled: a prompt, a lock, a scan.

        :param begin: What it begins is cancelled when the operation has to end.
        """
        self.raise_if_stopping()
        waiting: Deferred[T] = ensureDeferred(begin())
        self._waiting = waiting
        try:
            return await waiting
        finally:
            self._waiting = None
            # Failed at once, it would keep the failure, in whose frames we all are.
            waiting.addErrback(lambda _: None)

    async def hold(self, lock: DeferredLock) -> None:
        """Acquire a lock; it is released when the operation has ended."""
        await self.until(lock.acquire)
        self._held.append(lock)

    def commit(self) -> None:
        """
        Begin the part that has to be finished or undone, and can't be cancelled.

        :raise BridgeError: See ``raise_if_stopping``.
        """
        self.raise_if_stopping()
        self._committing = True

    def interrupt(self, why: BridgeError) -> None:
        """
        Cancel the operation; has no effect while it is committing, or twice.

        :param why: What its callers are refused with.
        """
        if not self.cancellable:
            return
        self.why_stopped = why
        if self._waiting is not None:
            self._waiting.cancel()

    def end(self, outcome: Outcome) -> None:
        """Release every lock, the last acquired first, and answer who waits for it."""
        self.outcome = outcome
        while self._held:
            self._held.pop().release()
        self._ended.callback(None)

    def ended(self) -> Deferred[None]:
        """
        Wait for the end, as one of several may.

        :return: Cancelling it does not stop the operation.
        """
        waiting: Deferred[None] = Deferred()
        self._ended.chainDeferred(waiting)
        return waiting

    def join(self, ref: str | None = None) -> Deferred[Any]:
        """
        Wait for the outcome; see ``ended``.

        :param ref: A name that another page has chosen for it, and may ask for later.
        :return: Fires with the result, or fails with ``BridgeError``.
        """
        if ref is not None and len(self.refs) < OUTCOMES:
            self.refs.add(ref)
        return self.ended().addCallback(lambda _: self._result())

    def _result(self) -> Any:
        if self.outcome is not None and self.outcome.error is not None:
            raise self.outcome.error
        return self.outcome and self.outcome.result
