"""One plugin operation under way, and its outcome."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import field
from twisted.internet.defer import Deferred, DeferredLock
from twisted.python.failure import Failure

from ....approval import Operation
from ....classes import define, frozen
from ....concurrency.shares import Holder
from ....protocol.errors import BridgeError, Prefix, plugin_error, shutting_down
from ....protocol.steps import Step
from .progress import Progress, Watcher

T = TypeVar("T")

# Not EIO: of a disk that breaks, it matters which file was read or written.
_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))


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
class Ref:
    """
    A page's own name for an operation.

    The same name and subject are the same operation, however often it is asked for.

    :ivar subject: All that was asked for; the name can't be used for anything else.
    """

    name: str
    subject: Any


def ref_of(name: str | None, *subject: Any) -> Ref | None:
    """Return the name of an operation and its subject; ``None`` without a name."""
    return None if name is None else Ref(name, subject)


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
class Running:
    """
    One operation, under way or ended.

    :ivar plugin_id: For progress records; ``None`` when not known from the start.
    :ivar name: The daemon's name for it, which no other operation has.
    :ivar ref: The page's name for it, if there is one.
    :ivar started_at: Milliseconds since the epoch.
    :ivar stopping: Whether it has to end.
    :ivar clones: Trees that are to be removed unless it is done.
    :ivar step: The last step it has reached.
    :ivar failed_at: The step before the rollback, if there was one.
    :ivar message: The last message to pages.
    :ivar outcome: ``None`` while it is under way.
    :ivar subject: What it was asked for, where a second time is to join it.
    :ivar caller: Who asked for it; its prompts that were not shown yet end with it.
    """

    op: Operation
    plugin_id: str | None
    _watcher: Watcher
    name: str = ""
    ref: Ref | None = None
    started_at: int = 0
    stopping: bool = False
    clones: list[Path] = field(factory=list)
    step: Step = Step.AWAITING_CONFIRMATION
    failed_at: Step | None = None
    message: str = ""
    outcome: Outcome | None = None
    subject: Any = None
    caller: Holder | None = None
    ended: Deferred[None] = field(factory=Deferred)
    _committing: bool = False
    _why: BridgeError | None = None
    _waiting: Deferred[Any] | None = None
    _held: list[DeferredLock] = field(factory=list)
    _askers: list[Deferred[Any]] = field(factory=list)

    @property
    def cancellable(self) -> bool:
        """Whether it can still be cancelled."""
        return not (self._committing or self.stopping or self.outcome)

    def reached(
        self, step: Step, message: str, asking: Operation | None = None
    ) -> None:
        """
        Report a step to pages.

        :param asking: What a prompt within this operation is about.
        """
        self.step = step
        self.message = message
        self._watcher.progress(
            Progress(
                asking or self.op,
                self.plugin_id,
                step,
                message,
                self.name,
                self.ref.name if self.ref else None,
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
        if self.stopping:
            raise self.why_stopped

    @property
    def why_stopped(self) -> BridgeError:
        """The refusal, once it was interrupted."""
        return self._why or shutting_down()

    async def until(self, begin: Callable[[], Deferred[T]]) -> T:
        """
        Wait for something that can be cancelled: a prompt, a lock, a scan.

        :param begin: Its Deferred is cancelled when the operation has to end.
        """
        self.raise_if_stopping()
        waiting = begin()
        self._waiting = waiting
        try:
            return await waiting
        finally:
            self._waiting = None

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

    def interrupt(self, why: BridgeError | None = None) -> None:
        """
        Cancel the operation; has no effect while it is committing, or twice.

        :param why: What its callers are refused with; ``None`` for a shutdown.
        """
        if not self.cancellable:
            return
        self._why = why
        self.stopping = True
        if self._waiting is not None:
            self._waiting.cancel()

    def release(self) -> None:
        """Release every lock, the last acquired first."""
        while self._held:
            self._held.pop().release()

    def join(self) -> Deferred[Any]:
        """
        Wait for the outcome, as one of several may.

        :return: Fires with the result, or fails with ``BridgeError``.  Cancelling it
            does not stop the operation.
        """
        asker: Deferred[Any] = Deferred()
        if self.outcome is None:
            self._askers.append(asker)
        elif self.outcome.error is None:
            asker.callback(self.outcome.result)
        else:
            asker.errback(self.outcome.error)
        return asker

    def answer(self, outcome: Any) -> None:
        """
        Answer everyone who has joined.

        :param outcome: A result or a ``Failure``.
        """
        askers, self._askers = self._askers, []
        for asker in askers:
            if isinstance(outcome, Failure):
                asker.errback(outcome)
            else:
                asker.callback(outcome)
