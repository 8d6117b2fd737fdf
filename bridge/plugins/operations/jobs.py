"""
Plugin operations under way, and those that ended lately.

::

    prompts, clone, checks      hold nothing shared; ``cancel`` and ``close`` end them
    commit                      holds the commit lock; ``close`` waits for it
"""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar
from weakref import WeakValueDictionary

from attrs import field
from twisted.internet.defer import Deferred, DeferredList, DeferredLock, ensureDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...classes import define, frozen
from ...concurrency.shares import Holder
from ...protocol import limits
from ...protocol.errors import (
    BridgeError,
    Code,
    Prefix,
    bad_request,
    forget_traceback,
    plugin_error,
    shutting_down,
    unavailable,
)
from ...protocol.steps import Operation, Step
from ...system.processes import trim

T = TypeVar("T")

# Not EIO: of a disk that breaks, it matters which file was read or written.
_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))


@frozen
class Progress:
    """
    A report to pages about one step.

    :ivar op: The operation.
    :ivar id: The plugin's, the same during one operation; null during an install.
    :ivar step: The last step it has reached.
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
class Request:
    """
    What is asked for, and by whom.

    :ivar subject: All that distinguishes it from other requests for this operation;
        what carries it out gets that.
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
    :ivar about: The plugin's id and version, once they are known.
    :ivar step: The last step it has reached.
    :ivar failed_at: The step before the rollback, if there was one.
    :ivar message: The last message to pages.
    :ivar ended_at: Milliseconds since the epoch; ``None`` while it is under way.
    :ivar result: What its body returned, once it is done.
    :ivar error: Why it was refused or cancelled.
    :ivar refs: The names by which it was joined.
    """

    request: Request
    _watch: Watch
    name: str = ""
    started_at: int = 0
    why_stopped: BridgeError | None = None
    clones: list[Path] = field(factory=list)
    about: str = ""
    step: Step = Step.AWAITING_CONFIRMATION
    failed_at: Step | None = None
    message: str = ""
    ended_at: int | None = None
    result: Any = None
    error: BridgeError | None = None
    refs: set[str] = field(factory=set)
    _committing: bool = False
    _waiting: Deferred[Any] | None = None
    _held: list[DeferredLock] = field(factory=list)
    _ended: Deferred[None] = field(factory=Deferred)

    @property
    def cancellable(self) -> bool:
        """Whether it can still be cancelled."""
        return not (self._committing or self.why_stopped or self.outcome)

    @property
    def what(self) -> str:
        """Name it for the log."""
        about = self.about or self.request.plugin_id
        return f"{self.request.op} of {about}" if about else str(self.request.op)

    @property
    def outcome(self) -> End | None:
        """How it ended; ``None`` while it is under way."""
        if self.ended_at is None:
            return None
        if self.error is None:
            return End.DONE
        return End.CANCELLED if self.why_stopped else End.REFUSED

    def reached(
        self, step: Step, message: str, asking: Operation | None = None
    ) -> None:
        """
        Report a step to pages, and go on to it.

        :param asking: What a prompt within this operation is about.
        :raise BridgeError: See ``raise_if_stopping``.
        """
        self.raise_if_stopping()
        self.step = step
        self.message = message
        self.report(asking)

    def report(self, asking: Operation | None = None) -> None:
        """Report again to pages how far it is; see ``reached``."""
        self._watch(self.progress(asking))

    def progress(self, asking: Operation | None = None) -> Progress:
        """Return how far it is; see ``reached``."""
        return Progress(
            asking or self.request.op,
            self.request.plugin_id,
            self.step,
            self.message,
            self.name,
            self.request.ref,
            self.cancellable,
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

    def end(self, at: int) -> None:
        """Release every lock, the last acquired first, and answer who waits for it."""
        self.ended_at = at
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
        if ref is not None and len(self.refs) < limits.OUTCOMES:
            self.refs.add(ref)
        return self.ended().addCallback(lambda _: self._result())

    def _result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


@define(eq=False)
class Jobs:
    """
    Every plugin operation of the daemon.

    :ivar now: The time of day, in seconds since the epoch.
    :ivar name: Returns a fresh name for an operation.
    :ivar remove: Removes a tree that is not wanted any more.
    :ivar commit_lock: Held while the trees, the records and the bundle change.
    """

    _watch: Watch
    _clock: IReactorTime
    _now: Callable[[], float]
    _name: Callable[[], str]
    _remove: Callable[[Path], Awaitable[object]]
    commit_lock: DeferredLock = field(factory=DeferredLock)
    _by_plugin: WeakValueDictionary[str, DeferredLock] = field(
        factory=WeakValueDictionary
    )
    _jobs: list[Job] = field(factory=list)
    _ended: list[tuple[float, Job]] = field(factory=list)
    _closing: bool = False

    _log: ClassVar[Logger] = Logger()

    def plugin_lock(self, plugin_id: str) -> DeferredLock:
        """Return the lock of the one operation that may change this plugin."""
        return self._by_plugin.setdefault(plugin_id, DeferredLock())

    def find(self, request: Request) -> Job | None:
        """
        Find the operation that a page has named so, under way or ended lately.

        :raise BridgeError: ``bad_request``: the name is of another operation.
        """
        if request.ref is None:
            return None
        for job in self.recent():
            if request.ref == job.request.ref or request.ref in job.refs:
                break
        else:
            return None
        if not job.request.is_same(request):
            raise bad_request("ref: another operation has this name")
        return job

    def under_way(self, op: Operation, *subject: Any) -> Job | None:
        """
        Find an operation under way.

        :param subject: What its subject begins with.
        """
        jobs = (one for one in self._jobs if one.request.op == op)
        about = len(subject)
        return next(
            (one for one in jobs if one.request.subject[:about] == subject), None
        )

    def run(
        self,
        request: Request,
        body: Callable[..., Awaitable[T]],
        watch: Watch | None = None,
    ) -> Deferred[T]:
        """
        Run an operation, or join the one that has its ``ref``.

        Cancelling the Deferred does not stop it.

        :param body: Called with the job and the request's subject.
        :param watch: Receives the progress; every page when it is ``None``.
        :return: Fires when everything is done; fails with ``BridgeError`` when
            everything was rolled back.
        :raise BridgeError: It is refused before it begins.
        """
        known = self.find(request)
        if known is not None:
            return known.join()
        self._refuse_more(request)
        job = Job(request, watch or self._watch, self._name(), self.now_ms())
        self._jobs.append(job)
        answer: Deferred[T] = job.join()
        Deferred.fromCoroutine(self._carry_out(job, body))
        return answer

    def _refuse_more(self, request: Request) -> None:
        if self._closing:
            raise shutting_down()
        # Builds have places of their own: they show no prompt, and those that wait are
        # one.
        is_build = request.op is Operation.BUILD
        callers = [
            job.request.caller
            for job in self._jobs
            if (job.request.op is Operation.BUILD) is is_build
        ]
        own = 0 if is_build else sum(caller is request.caller for caller in callers)
        whose = ""
        if request.caller is not None and own >= limits.OPERATIONS_UNDER_WAY_PER_CALLER:
            whose = f"{own} plugin operations of this page"
        elif len(callers) >= limits.OPERATIONS_UNDER_WAY:
            whose = f"{limits.OPERATIONS_UNDER_WAY} plugin operations"
        if whose:
            raise unavailable(f"{whose} are under way; wait for one to end")

    def now_ms(self) -> int:
        """Return the time of day, in milliseconds since the epoch."""
        return int(self._now() * 1000)

    async def _carry_out(self, job: Job, body: Callable[..., Awaitable[T]]) -> None:
        try:
            job.result = await body(job, *job.request.subject)
            self._log.info("{what} is done", what=job.what)
        except Exception as e:  # noqa: BLE001
            refusal = self._refusal(job, e)
            forget_traceback(e)
            forget_traceback(refusal)
            await self._remove_clones(job)
            job.error = refusal
        self._jobs.remove(job)
        ended = self._clock.seconds(), job
        self._ended = [*self._ended, ended][-limits.OUTCOMES :]
        job.end(self.now_ms())
        trim()

    async def _remove_clones(self, job: Job) -> None:
        for clone in job.clones:
            try:
                await self._remove(clone)
            except Exception:  # noqa: BLE001
                self._log.failure("{name} is removed at the next start", name=clone)

    def _refusal(self, job: Job, error: Exception) -> BridgeError:
        step = job.failed_at or job.step
        where: dict[str, Any] = {"what": job.what, "step": step}
        refusal = job.why_stopped or error
        if not isinstance(refusal, BridgeError):
            undone, because = f"the {step} step failed and was undone", reason(error)
            if because is None:
                self._log.failure("{what} failed at {step}", **where)
                return BridgeError(Code.INTERNAL, f"{undone}; see the daemon's log")
            refusal = BridgeError(Code.INTERNAL, f"{undone}: {because}")
        log = self._log.error if refusal.code == Code.INTERNAL else self._log.warn
        log("{what} ended at {step}: {reason}", reason=refusal.message, **where)
        return refusal

    def recent(self) -> list[Job]:
        """
        Return what is under way or ended within ``OUTCOME_SECONDS``, in that order.

        Of what ended, the last ``OUTCOMES`` at most.
        """
        oldest = self._clock.seconds() - limits.OUTCOME_SECONDS
        self._ended = [(at, job) for at, job in self._ended if at > oldest]
        return [*self._jobs, *(job for _, job in self._ended)]

    def cancel(self, name: str) -> Deferred[None]:
        """
        Cancel an operation, unless it commits already.

        :return: Fires when it has ended and was rolled back.
        :raise BridgeError: ``not_cancellable``.
        """
        job = next((one for one in self._jobs if one.name == name), None)
        if job is None:
            why = "operation: none under way has this name"
            raise plugin_error(Prefix.NOT_CANCELLABLE, why)
        job.interrupt(cancelled("the operation was cancelled"))
        if job.why_stopped is None:
            why = "it is being put in place already, and will end soon"
            raise plugin_error(Prefix.NOT_CANCELLABLE, why)
        return job.ended()

    def close(self) -> Deferred[None]:
        """
        Refuse new operations, cancel those that can be, and finish the others.

        :return: Fires when nothing is under way.
        """
        self._closing = True
        ended = [job.ended() for job in self._jobs]
        for job in list(self._jobs):
            job.interrupt(shutting_down())
        return DeferredList(ended).addCallback(lambda _: None)
