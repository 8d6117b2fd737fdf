"""
Plugin operations under way: their locks, their undo and their shutdown.

::

    prompts, clone, checks      hold nothing shared; ``close`` ends them
    commit                      holds the commit lock; ``close`` waits for it
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from attrs import define, field
from twisted.internet.defer import Deferred, DeferredList, DeferredLock, fail
from twisted.logger import Logger

from ...approval import Operation
from ...protocol.errors import BridgeError, Code, shutting_down
from ...protocol.limits import OPERATIONS_UNDER_WAY
from .progress import Audience, Progress, Step

T = TypeVar("T")


@define(eq=False)
class Undo:
    """Rolls an operation back: the last effect first."""

    _steps: list[tuple[str, Callable[[], Awaitable[Any]]]] = field(factory=list)
    _afterwards: dict[str, Callable[[], Awaitable[Any]]] = field(factory=dict)

    _log: ClassVar[Logger] = Logger()

    def add(self, what: str, how: Callable[[], Awaitable[Any]]) -> None:
        """
        Add a step that undoes what is done next, or was just done.

        :param what: For the log, when ``how`` fails.
        """
        self._steps.append((what, how))

    def afterwards(self, what: str, how: Callable[[], Awaitable[Any]]) -> None:
        """
        Add a step that runs after everything was rolled back.

        It runs before those that were added earlier, and once for each name.
        """
        self._afterwards.setdefault(what, how)

    def discard(self, what: str) -> None:
        """Drop a step that was added, also while the others run."""
        self._steps = [step for step in self._steps if step[0] != what]

    def keep(self) -> None:
        """Drop all steps: what was done stays."""
        self._steps, self._afterwards = [], {}

    async def run(self) -> None:
        """Roll everything back; a step that fails is logged, and the rest goes on."""
        while self._steps:
            await self._run_step(*self._steps.pop())
        for what, how in reversed(self._afterwards.items()):
            await self._run_step(what, how)
        self.keep()

    async def _run_step(self, what: str, how: Callable[[], Awaitable[Any]]) -> None:
        try:
            await how()
        except Exception:  # noqa: BLE001
            self._log.failure("undoing failed: {what}", what=what)


@define(eq=False)
class Running:
    """
    One operation under way.

    :ivar stop: Set when it has to end; a clone watches it.
    :ivar step: The last step it has reached.
    """

    op: Operation
    plugin_id: str | None
    _audience: Audience
    undo: Undo = field(factory=Undo)
    stop: threading.Event = field(factory=threading.Event)
    step: Step = Step.AWAITING_CONFIRMATION
    ended: Deferred[None] = field(factory=Deferred)
    _committing: bool = False
    _waiting: Deferred[Any] | None = None
    _held: list[DeferredLock] = field(factory=list)

    def reached(
        self, step: Step, message: str, asking: Operation | None = None
    ) -> None:
        """
        Report a step to pages.

        :param asking: What a prompt within this operation is about.
        """
        self.step = step
        op = asking or self.op
        self._audience.progress(Progress(op, self.plugin_id, step, message))

    def check(self) -> None:
        """
        Check that the operation may go on.

        :raise BridgeError: ``unavailable``: the daemon is shutting down.
        """
        if self.stop.is_set():
            raise shutting_down()

    async def until(self, begin: Callable[[], Deferred[T]]) -> T:
        """
        Wait for something that can be cancelled: a prompt, a lock.

        :param begin: Its Deferred is cancelled when the operation has to end.
        """
        self.check()
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

        :raise BridgeError: See ``check``.
        """
        self.check()
        self._committing = True

    def interrupt(self) -> None:
        """Cancel the operation; has no effect while it is committing."""
        if self._committing:
            return
        self.stop.set()
        if self._waiting is not None:
            self._waiting.cancel()

    def release(self) -> None:
        """Release every lock, the last acquired first."""
        while self._held:
            self._held.pop().release()


@define(eq=False)
class Operations:
    """
    Every plugin operation of the daemon.

    :ivar commit_lock: Held while the trees, the records and the bundle change.
    """

    _audience: Audience
    commit_lock: DeferredLock = field(factory=DeferredLock)
    _by_plugin: WeakValueDictionary[str, DeferredLock] = field(
        factory=WeakValueDictionary
    )
    _running: list[Running] = field(factory=list)
    _closing: bool = False

    _log: ClassVar[Logger] = Logger()

    def plugin_lock(self, plugin_id: str) -> DeferredLock:
        """Return the lock of the one operation that may change this plugin."""
        return self._by_plugin.setdefault(plugin_id, DeferredLock())

    def run(
        self,
        op: Operation,
        plugin_id: str | None,
        body: Callable[[Running], Awaitable[T]],
    ) -> Deferred[T]:
        """
        Run an operation, and undo it when it fails.

        Cancelling the Deferred does not stop it.

        :param plugin_id: For progress records; ``None`` when not known yet.
        :return: Fires when everything is done; fails with ``BridgeError`` when
            everything was rolled back.
        """
        if self._closing:
            return fail(shutting_down())
        if len(self._running) >= OPERATIONS_UNDER_WAY:
            return fail(
                BridgeError(
                    Code.UNAVAILABLE,
                    f"{OPERATIONS_UNDER_WAY} plugin operations are under way; wait "
                    "for one to end",
                )
            )
        running = Running(op, plugin_id, self._audience)
        self._running.append(running)
        answer: Deferred[T] = Deferred()
        going = Deferred.fromCoroutine(self._carry_out(running, body))
        going.addCallbacks(answer.callback, answer.errback)
        return answer

    async def _carry_out(
        self, running: Running, body: Callable[[Running], Awaitable[T]]
    ) -> T:
        try:
            result = await body(running)
            self._log.info("{op} is done", op=running.op)
            return result
        except Exception as e:  # noqa: BLE001
            refusal = self._refusal(running, e)
            await running.undo.run()
            raise refusal from None
        finally:
            running.release()
            self._running.remove(running)
            running.ended.callback(None)

    def _refusal(self, running: Running, error: Exception) -> BridgeError:
        where: dict[str, Any] = {"op": running.op, "step": running.step}
        if running.stop.is_set():
            self._log.warn("{op} was cancelled at {step}: shutting down", **where)
            return shutting_down()
        if isinstance(error, BridgeError):
            log = self._log.error if error.code == Code.INTERNAL else self._log.warn
            log("{op} ended at {step}: {reason}", reason=error.message, **where)
            return error
        self._log.failure("{op} failed at {step}", **where)
        return BridgeError(
            Code.INTERNAL,
            f"the {running.step} step failed and was undone; see the daemon's log",
        )

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
