import threading
from typing import Any
from unittest import mock

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency.threads import Pool, settled, stoppable
from bridge.protocol.errors import BridgeError, Code

from ..reactors import reactor


class PoolTests(TestCase):
    async def test_no_more_threads(self):
        """Without room for a thread a call fails, or waits for one; it can end."""
        pool = Pool(reactor, "test", 2)
        pool.start()
        self.addCleanup(pool.stop)
        no_room = RuntimeError("can't start new thread")
        full = mock.patch("threading.Thread.start", side_effect=no_room)
        with full:
            refused = await self.assertFailure(pool.call(int), BridgeError)
        self.assertEqual(refused.code, Code.UNAVAILABLE)
        self.assertIn("no room for another thread", refused.message)
        go_on = threading.Event()
        held = pool.call(go_on.wait, 9)
        with full:
            waiting = pool.call(int)
        await pool.call(go_on.set)  # there is room again
        self.assertEqual((await held, await waiting), (True, 0))


class StoppableTests(SynchronousTestCase):
    def test_cancelled(self):
        """Once cancelled, it waits until the thread has noticed."""
        calling: Deferred[str] = Deferred()
        checks: list[Any] = []

        def in_thread(work: Any) -> Deferred[str]:
            work()
            return calling

        working = Deferred.fromCoroutine(stoppable(in_thread, checks.append))
        working.cancel()
        self.assertNoResult(working)
        self.assertRaises(CancelledError, checks[0])
        calling.errback(CancelledError())
        self.failureResultOf(working, CancelledError)

    def test_cancelled_before_it_began(self):
        """What waits for a thread is not waited for; its turn does nothing."""
        begin: list[Any] = []
        done: list[Any] = []

        def in_thread(work: Any) -> Deferred[str]:
            begin.append(work)
            return Deferred()

        working = Deferred.fromCoroutine(stoppable(in_thread, done.append))
        working.cancel()
        self.failureResultOf(working, CancelledError)
        self.assertRaises(CancelledError, begin[0])
        self.assertEqual(done, [])


class SettledTests(SynchronousTestCase):
    """Waiting for what can't be stopped at once."""

    def test_ends_at_once_when_asked(self):
        """What ends as soon as it is asked is waited for no longer."""
        work: Deferred[int] = Deferred()
        waiting = Deferred.fromCoroutine(settled(work, lambda: work.callback(1)))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
