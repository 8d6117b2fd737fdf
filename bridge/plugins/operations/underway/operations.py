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
from twisted.internet.defer import Deferred, DeferredList, DeferredLock, fail
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ....approval import Operation
from ....classes import define
from ....concurrency.shares import Holder
from ....protocol.errors import (
    BridgeError,
    Code,
    Prefix,
    plugin_error,
    shutting_down,
)
from ....protocol.limits import (
    OPERATIONS_UNDER_WAY,
    OPERATIONS_UNDER_WAY_PER_CALLER,
    OUTCOME_SECONDS,
    OUTCOMES,
)
from .progress import Watcher
from .running import End, Outcome, Ref, Running, cancelled, reason

T = TypeVar("T")


@define(eq=False)
class Operations:
    """
    Every plugin operation of the daemon.

    :ivar name: Returns a fresh name for an operation.
    :ivar remove: Removes a tree that is not wanted any more.
    :ivar commit_lock: Held while the trees, the records and the bundle change.
    """

    _watcher: Watcher
    _clock: IReactorTime
    _name: Callable[[], str]
    _remove: Callable[[Path], Awaitable[object]]
    commit_lock: DeferredLock = field(factory=DeferredLock)
    _by_plugin: WeakValueDictionary[str, DeferredLock] = field(
        factory=WeakValueDictionary
    )
    _running: list[Running] = field(factory=list)
    _ended: list[Running] = field(factory=list)
    _closing: bool = False

    _log: ClassVar[Logger] = Logger()

    def plugin_lock(self, plugin_id: str) -> DeferredLock:
        """Return the lock of the one operation that may change this plugin."""
        return self._by_plugin.setdefault(plugin_id, DeferredLock())

    def find(self, ref: Ref | None) -> Running | None:
        """
        Find the operation that a page has named so, under way or ended lately.

        :raise BridgeError: ``bad_request``: the name is of another operation.
        """
        if ref is None:
            return None
        for running in self.recent():
            if running.ref and running.ref.name == ref.name:
                if running.ref != ref:
                    raise BridgeError(
                        Code.BAD_REQUEST, "ref: another operation has this name"
                    )
                return running
        return None

    def under_way(self, subject: Any) -> Running | None:
        """Find the operation under way that was asked for the same."""
        found = (running for running in self._running if running.subject == subject)
        return next(found, None)

    def run(
        self,
        op: Operation,
        plugin_id: str | None,
        body: Callable[[Running], Awaitable[T]],
        ref: Ref | None = None,
        watcher: Watcher | None = None,
        *,
        subject: Any = None,
        caller: Holder | None = None,
    ) -> Deferred[T]:
        """
        Run an operation.

        Cancelling the Deferred does not stop it.

        :param plugin_id: For progress records; ``None`` when not known yet.
        :param ref: The page's name for it; an operation that has it, with the same
            subject, is joined instead.
        :param watcher: Receives the progress; every page when it is ``None``.
        :param subject: What is asked for; see ``under_way``.
        :param caller: Who asks; it may have so many operations at once.
        :return: Fires when everything is done; fails with ``BridgeError`` when
            everything was rolled back.
        """
        try:
            joined = self.find(ref)
            if joined is not None:
                return joined.join()
            self._refuse_more(caller)
        except BridgeError as refused:
            return fail(refused)
        running = Running(
            op,
            plugin_id,
            watcher or self._watcher,
            self._name(),
            ref,
            self._now(),
            subject=subject,
            caller=caller,
        )
        self._running.append(running)
        answer: Deferred[T] = running.join()
        going = Deferred.fromCoroutine(self._carry_out(running, body))
        going.addBoth(running.answer)
        return answer

    def _refuse_more(self, caller: Holder | None) -> None:
        if self._closing:
            raise shutting_down()
        own = sum(running.caller is caller for running in self._running)
        whose = ""
        if caller is not None and own >= OPERATIONS_UNDER_WAY_PER_CALLER:
            whose = f"{own} plugin operations of this page"
        elif len(self._running) >= OPERATIONS_UNDER_WAY:
            whose = f"{OPERATIONS_UNDER_WAY} plugin operations"
        if whose:
            raise BridgeError(
                Code.UNAVAILABLE, f"{whose} are under way; wait for one to end"
            )

    def _now(self) -> int:
        return int(self._clock.seconds() * 1000)

    async def _carry_out(
        self, running: Running, body: Callable[[Running], Awaitable[T]]
    ) -> T:
        try:
            result = await body(running)
            self._log.info("{op} is done", op=running.op)
            running.outcome = Outcome(End.DONE, self._now(), result)
            return result
        except Exception as e:  # noqa: BLE001
            refusal = self._refusal(running, e)
            await self._remove_clones(running)
            stopped = running.stopping
            end = End.CANCELLED if stopped else End.REFUSED
            running.outcome = Outcome(end, self._now(), error=refusal)
            raise refusal from None
        finally:
            running.release()
            self._running.remove(running)
            self._ended = [*self._ended, running][-OUTCOMES:]
            running.ended.callback(None)

    async def _remove_clones(self, running: Running) -> None:
        for clone in running.clones:
            try:
                await self._remove(clone)
            except OSError:
                self._log.failure("{name} is removed at the next start", name=clone)

    def _refusal(self, running: Running, error: Exception) -> BridgeError:
        step = running.failed_at or running.step
        where: dict[str, Any] = {"op": running.op, "step": step}
        if running.stopping:
            why = running.why_stopped
            self._log.warn(
                "{op} was cancelled at {step}: {why}", why=why.message, **where
            )
            return why
        if isinstance(error, BridgeError):
            log = self._log.error if error.code == Code.INTERNAL else self._log.warn
            log("{op} ended at {step}: {reason}", reason=error.message, **where)
            return error
        undone = f"the {step} step failed and was undone"
        if (because := reason(error)) is not None:
            self._log.error("{op} failed at {step}: {why}", why=because, **where)
            return BridgeError(Code.INTERNAL, f"{undone}: {because}")
        self._log.failure("{op} failed at {step}", **where)
        return BridgeError(Code.INTERNAL, f"{undone}; see the daemon's log")

    def recent(self) -> list[Running]:
        """
        Return what is under way or ended within ``OUTCOME_SECONDS``, in that order.

        Of what ended, the last ``OUTCOMES`` at most.
        """
        oldest = self._now() - OUTCOME_SECONDS * 1000
        self._ended = [
            running
            for running in self._ended
            if running.outcome and running.outcome.at > oldest
        ]
        return [*self._running, *self._ended]

    def cancel(self, name: str) -> Deferred[None]:
        """
        Cancel an operation, unless it commits already.

        :return: Fires when it has ended and was rolled back; fails with
            ``BridgeError``: ``not_cancellable``.
        """
        running = next((one for one in self._running if one.name == name), None)
        if running is None:
            why = "operation: none under way has this name"
            return fail(plugin_error(Prefix.NOT_CANCELLABLE, why))
        running.interrupt(cancelled("the operation was cancelled"))
        if not running.stopping:
            why = "it is being put in place already, and will end soon"
            return fail(plugin_error(Prefix.NOT_CANCELLABLE, why))
        return DeferredList([running.ended]).addCallback(lambda _: None)

    def close(self) -> Deferred[None]:
        """
        Refuse new operations, cancel those that can be, and finish the others.

        :return: Fires when nothing is under way.
        """
        self._closing = True
        ended: list[Deferred[None]] = [running.ended for running in self._running]
        for running in list(self._running):
            running.interrupt()
        return DeferredList(ended).addCallback(lambda _: None)
