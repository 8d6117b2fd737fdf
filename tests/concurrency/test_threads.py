"""Tests for bridge.concurrency.threads."""

import threading
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.python.monkey import MonkeyPatcher
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency.threads import Pool, settled, stoppable
from bridge.protocol.errors import BridgeError, Code


class PoolTests(TestCase):
    """Tests for pools of threads."""

    async def test_no_more_threads(self):
        """Without room for a thread a call fails, later ones are made; it can end."""
        anything: Any = reactor
        pool = Pool(anything, "test", 2)
        pool.start()
        self.addCleanup(pool.stop)
        full = MonkeyPatcher((threading.Thread, "start", _no_room))
        with full:
            refused = await self.assertFailure(pool.call(int), BridgeError)
        self.assertEqual(refused.code, Code.UNAVAILABLE)
        self.assertIn("no room for another thread", refused.message)
        self.assertEqual(await pool.call(int), 0)
        with full:
            self.assertEqual(await pool.call(int), 0)


def _no_room(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


class StoppableTests(SynchronousTestCase):
    """Tests for work in a thread that can be stopped."""

    def setUp(self):
        """Begin some work, whose thread is this one, later."""
        self.calling: Deferred[str] = Deferred()
        self.checks: list[Any] = []
        self.working = Deferred.fromCoroutine(stoppable(self.in_thread, lambda _: "x"))

    def in_thread(self, work: Any, check: Any) -> Deferred[str]:
        """Keep what notices that the work is to end."""
        self.checks.append(check)
        return self.calling

    def test_result(self):
        """It returns what the work does, and nothing stops it."""
        self.checks[0]()
        self.calling.callback("done")
        self.assertEqual(self.successResultOf(self.working), "done")

    def test_cancelled(self):
        """Once cancelled, it waits until the thread has noticed."""
        self.working.cancel()
        self.assertNoResult(self.working)
        self.assertRaises(CancelledError, self.checks[0])
        self.calling.errback(CancelledError())
        self.failureResultOf(self.working, CancelledError)


class SettledTests(SynchronousTestCase):
    """Waiting for what can't be stopped at once."""

    def wait(self, work: Deferred[Any], stop=lambda: None) -> Deferred[Any]:
        """Wait for it."""
        return Deferred.fromCoroutine(settled(work, stop))

    def test_result(self):
        """A result or a failure is passed on."""
        self.assertEqual(self.successResultOf(self.wait(succeed(7))), 7)
        self.failureResultOf(self.wait(fail(ValueError())), ValueError)

    def test_ends_at_once_when_asked(self):
        """What ends as soon as it is asked is waited for no longer."""
        work: Deferred[int] = Deferred()
        waiting = self.wait(work, lambda: work.callback(1))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
