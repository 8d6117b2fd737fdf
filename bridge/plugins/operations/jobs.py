"""
Plugin operations under way, and those that ended lately.

::

    prompts, clone, checks      hold nothing shared; ``cancel`` and ``close`` end them
    commit                      holds the commit lock; ``close`` waits for it
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from attrs import field
from twisted.internet.defer import Deferred, DeferredList, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...approval.prompts import Operation
from ...classes import define
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
from .job import End, Job, Outcome, Request, Watch, cancelled, reason

T = TypeVar("T")


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
        body: Callable[[Job], Awaitable[T]],
        watch: Watch | None = None,
    ) -> Deferred[T]:
        """
        Run an operation, or join the one that has its ``ref``.

        Cancelling the Deferred does not stop it.

        :param watch: Receives the progress; every page when it is ``None``.
        :return: Fires when everything is done; fails with ``BridgeError`` when
            everything was rolled back.
        :raise BridgeError: It is refused before it begins.
        """
        known = self.find(request)
        if known is not None:
            return known.join()
        self._refuse_more(request.caller)
        job = Job(request, watch or self._watch, self._name(), self._now_ms())
        self._jobs.append(job)
        answer: Deferred[T] = job.join()
        Deferred.fromCoroutine(self._carry_out(job, body))
        return answer

    def _refuse_more(self, caller: Holder | None) -> None:
        if self._closing:
            raise shutting_down()
        own = sum(job.request.caller is caller for job in self._jobs)
        whose = ""
        if caller is not None and own >= limits.OPERATIONS_UNDER_WAY_PER_CALLER:
            whose = f"{own} plugin operations of this page"
        elif len(self._jobs) >= limits.OPERATIONS_UNDER_WAY:
            whose = f"{limits.OPERATIONS_UNDER_WAY} plugin operations"
        if whose:
            raise unavailable(f"{whose} are under way; wait for one to end")

    def _now_ms(self) -> int:
        return int(self._now() * 1000)

    async def _carry_out(self, job: Job, body: Callable[[Job], Awaitable[T]]) -> None:
        try:
            result = await body(job)
            self._log.info("{op} is done", op=job.request.op)
            outcome = Outcome(End.DONE, self._now_ms(), result)
        except Exception as e:  # noqa: BLE001
            refusal = self._refusal(job, e)
            forget_traceback(e)
            forget_traceback(refusal)
            await self._remove_clones(job)
            end = End.CANCELLED if job.why_stopped else End.REFUSED
            outcome = Outcome(end, self._now_ms(), error=refusal)
        self._jobs.remove(job)
        ended = self._clock.seconds(), job
        self._ended = [*self._ended, ended][-limits.OUTCOMES :]
        job.end(outcome)

    async def _remove_clones(self, job: Job) -> None:
        for clone in job.clones:
            try:
                await self._remove(clone)
            except Exception:  # noqa: BLE001
                self._log.failure("{name} is removed at the next start", name=clone)

    def _refusal(self, job: Job, error: Exception) -> BridgeError:
        step = job.failed_at or job.step
        where: dict[str, Any] = {"op": job.request.op, "step": step}
        refusal = job.why_stopped or error
        if not isinstance(refusal, BridgeError):
            undone, because = f"the {step} step failed and was undone", reason(error)
            if because is None:
                self._log.failure("{op} failed at {step}", **where)
                return BridgeError(Code.INTERNAL, f"{undone}; see the daemon's log")
            refusal = BridgeError(Code.INTERNAL, f"{undone}: {because}")
        log = self._log.error if refusal.code == Code.INTERNAL else self._log.warn
        log("{op} ended at {step}: {reason}", reason=refusal.message, **where)
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
