"""Pools of threads for work that blocks, and waiting for its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from attrs import field
from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from ..classes import define
from ..protocol.errors import forget_traceback, unavailable

T = TypeVar("T")

InThread = Callable[..., Deferred[Any]]
"""Calls a function, with the arguments after it, in a thread; see ``Pool.call``."""

NO_THREAD: Final = "the system has no room for another thread; end other programs"

Check = Callable[[], None]
"""Raises when the work in a thread is to end."""


async def settled(work: Deferred[T], stop: Callable[[], None]) -> T:
    """
    Wait for work to end, even when cancelled meanwhile.

    :param stop: Called on cancellation, to make the end come sooner.
    :raise CancelledError: It was cancelled meanwhile; the result is lost.
    """
    outcome: list[T | Failure] = []
    waiting: Deferred[None] = Deferred()
    cancelled: CancelledError | None = None

    def end(result: T | Failure) -> None:
        outcome.append(result)
        waiting.callback(None)

    work.addBoth(end)
    while not outcome:
        try:
            await waiting
        except CancelledError as e:
            cancelled = e
            waiting = Deferred()
            stop()
    result = outcome[0]
    if cancelled is not None:
        if isinstance(result, Failure):
            forget_traceback(result.value)
        raise cancelled
    if isinstance(result, Failure):
        result.raiseException()
    return result


async def stoppable(in_thread: InThread, work: Callable[[Check], T]) -> T:
    """
    Call ``work`` in a thread, and wait until it has ended even when cancelled; one that
    waits for a thread ends at once then.

    :param work: Calls what it receives now and then, which raises once this was
        cancelled.
    :return: What ``work`` returns.
    :raise CancelledError: See ``settled``.
    """
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise CancelledError

    begun = threading.Event()

    def begin() -> T:
        begun.set()
        check()
        return work(check)

    working = in_thread(begin)

    def end() -> None:
        stop.set()
        if not begun.is_set():
            working.cancel()  # should it begin now, it ends at its first check

    return await settled(working, end)


@define(eq=False, repr=False)
class Pool:
    """
    At most ``size`` threads, made when they are first needed.

    Settings and log lines have a pool of their own, so that neither waits for a
    clone that takes two minutes.
    """

    _reactor: IReactorFromThreads
    _name: str
    _size: int
    _pool: ThreadPool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._pool = ThreadPool(0, self._size, self._name)

    def start(self) -> None:
        """Start working; earlier calls wait until then."""
        self._pool.start()

    def stop(self) -> None:
        """Finish what was begun, and end the threads.  Blocks."""
        self._pool.stop()

    def call(self, f: Callable[..., T], *args: Any, **kwargs: Any) -> Deferred[T]:
        """
        Call ``f`` in a thread.

        :return: Fires with what ``f`` returns or raises; fails with ``BridgeError``,
            ``unavailable``: the system has no room for another thread, and none is
            alive that will have time for it.
        """
        call = partial(deferToThreadPool, self._reactor, self._pool, f, *args, **kwargs)
        try:
            calling: Deferred[T] = call()
        except RuntimeError:
            # Twisted would wait at the end for what did not start.
            self._pool.threads[:] = [one for one in self._pool.threads if one.ident]
            if not self._pool.workers:
                return fail(unavailable(NO_THREAD))
            self._pool.max = self._pool.workers  # so it starts none, but lets it wait
            calling = call()
            self._pool.max = self._size
        return calling.addErrback(_out_of_its_thread)


def _out_of_its_thread(failure: Failure) -> Failure:
    # Twisted keeps it in a frame of its own traceback: a cycle, with all that is there.
    failure.tb = None
    return Failure(failure.value)
