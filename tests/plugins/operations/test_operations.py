"""Tests for ``bridge.plugins.operations.operations``."""

import itertools
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.operations.operations import Operations
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import OPERATIONS_UNDER_WAY

from .bench import NOW, FakeAudience
from .test_undo import noting

INSTALL = Operation.INSTALL


class OperationsTestCase(SynchronousTestCase):
    """A test with operations."""

    def setUp(self):
        """Make them."""
        self.events: list[Any] = []
        self.clock = Clock()
        self.clock.advance(NOW)
        names = itertools.count(1)
        self.operations = Operations(
            FakeAudience(self.events), self.clock, lambda: f"{next(names):016x}"
        )

    def run_until(self, gate, op=INSTALL):
        """Run an operation that waits for ``gate``, and may be given up."""

        async def body(running):
            running.undo.add("note", noting(self.events, "undone"))
            return await running.until(lambda: gate)

        return self.operations.run(op, None, body)

    def answered(self, result):
        """Write the answer into the events."""
        self.events.append("answer")
        return result


class OperationsTests(OperationsTestCase):
    """Tests for ``Operations``."""

    def test_result(self):
        """An operation answers what it came to, and undoes nothing."""
        self.assertEqual(self.successResultOf(self.run_until(succeed(5))), 5)
        self.assertEqual(self.events, [])

    def test_refusal_comes_after_the_undoing(self):
        """A refused operation is undone before it is answered."""
        refused = BridgeError(Code.BAD_REQUEST, "no")
        running = self.run_until(fail(refused))
        running.addErrback(self.answered)
        self.assertIs(self.failureResultOf(running).value, refused)
        self.assertEqual(self.events, ["undone", "answer"])

    def test_defect_tells_nothing_of_itself(self):
        """A defect is logged whole, and answered as ``internal``."""
        running = self.run_until(fail(OSError(28, "secret")))
        error = self.failureResultOf(running, BridgeError).value
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertNotIn("secret", error.message)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_dropped_answer(self):
        """An operation goes on when nobody waits for its answer any more."""
        gate: Deferred[Any] = Deferred()
        running = self.run_until(gate)
        running.addErrback(lambda _: None)
        running.addCallback(self.events.append)
        running.cancel()
        gate.callback(5)
        self.assertEqual(self.events, [None])
        self.successResultOf(self.operations.close())

    def test_dropped_answer_of_a_refused_operation(self):
        """Nobody is left to receive a failure, and nothing is logged."""
        gate: Deferred[Any] = Deferred()
        running = self.run_until(gate)
        running.addErrback(lambda _: None)
        running.cancel()
        gate.errback(BridgeError(Code.BAD_REQUEST, "no"))
        self.assertEqual(self.events, ["undone"])

    def test_too_many(self):
        """Only so many go on at once; the next one is refused at once."""
        gates: list[Deferred[Any]] = [Deferred() for _ in range(OPERATIONS_UNDER_WAY)]
        for gate in gates:
            self.run_until(gate)
        error = self.failureResultOf(self.run_until(succeed(1)), BridgeError).value
        self.assertEqual(error.code, Code.UNAVAILABLE)
        gates[0].callback(1)
        self.assertEqual(self.successResultOf(self.run_until(succeed(1))), 1)

    def test_locks_are_released(self):
        """However an operation ends, the next one gets its locks."""

        async def body(running):
            await running.hold(self.operations.plugin_lock("sample"))
            await running.hold(self.operations.commit_lock)
            raise BridgeError(Code.BAD_REQUEST, "no")

        for _ in range(2):
            self.failureResultOf(self.operations.run(INSTALL, None, body), BridgeError)
        self.assertFalse(self.operations.commit_lock.locked)

    def test_one_lock_for_each_plugin(self):
        """A plugin's lock is the same for everybody, and no other's."""
        one = self.operations.plugin_lock("sample")
        self.assertIs(self.operations.plugin_lock("sample"), one)
        self.assertIsNot(self.operations.plugin_lock("other"), one)


class CloseTests(OperationsTestCase):
    """Tests for the end."""

    def test_what_waits_is_given_up(self):
        """A waiting operation ends, undone, and nothing begins any more."""
        gate: Deferred[Any] = Deferred(lambda d: self.events.append("withdrawn"))
        running = self.run_until(gate)
        self.successResultOf(self.operations.close())
        error = self.failureResultOf(running, BridgeError).value
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertEqual(self.events, ["withdrawn", "undone"])
        again = self.failureResultOf(self.run_until(gate), BridgeError).value
        self.assertEqual(again.code, Code.UNAVAILABLE)

    def test_thread_is_waited_for(self):
        """What runs in a thread is stopped, and is over before the end."""
        gate: Deferred[Any] = Deferred(lambda d: self.events.append("cancelled"))
        seen = []

        async def body(running):
            seen.append(running)
            await gate
            running.check()

        running = self.operations.run(INSTALL, None, body)
        closing = self.operations.close()
        self.assertNoResult(closing)
        self.assertTrue(seen[0].stop.is_set())
        gate.callback(None)
        self.successResultOf(closing)
        self.failureResultOf(running, BridgeError)
        self.assertEqual(self.events, [])

    def test_commit_is_waited_for(self):
        """What is being committed is finished."""
        gate: Deferred[Any] = Deferred()

        async def body(running):
            running.commit()
            await gate
            return 5

        running = self.operations.run(INSTALL, None, body)
        closing = self.operations.close()
        also = self.operations.close()
        self.assertNoResult(closing)
        gate.callback(None)
        self.successResultOf(closing)
        self.successResultOf(also)
        self.assertEqual(self.successResultOf(running), 5)

    def test_commit_does_not_begin_any_more(self):
        """An operation that was stopped commits nothing."""
        gate: Deferred[Any] = Deferred()

        async def body(running):
            await gate
            running.commit()

        running = self.operations.run(INSTALL, None, body)
        self.operations.close()
        gate.callback(None)
        self.failureResultOf(running, BridgeError)
