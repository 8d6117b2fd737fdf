"""Tests for ``bridge.plugins.operations.jobs``."""

import errno
import itertools
import os
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, fail, maybeDeferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.operations.job import End, Job, Outcome, Request
from bridge.plugins.operations.jobs import Jobs
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import OPERATIONS_UNDER_WAY, OUTCOME_SECONDS, OUTCOMES
from bridge.protocol.steps import Step

from .bench import NOW, FakeSink

INSTALL = Operation.INSTALL
ANY = Request(INSTALL)


def outcome_of(job: Job) -> Outcome:
    """What an ended operation came to."""
    assert job.outcome is not None
    return job.outcome


class JobsTestCase(SynchronousTestCase):
    """A test with operations."""

    def setUp(self):
        """Make them."""
        self.events: list[Any] = []
        self.clock = Clock()
        self.clock.advance(NOW)
        names = itertools.count(1)
        self.jobs = Jobs(
            FakeSink(self.events),
            self.clock,
            lambda: f"{next(names):016x}",
            self.remove,
        )

    def remove(self, clone):
        """Remove a tree, or fail to."""
        self.events.append(f"{clone} removed")
        return fail(OSError("in the way")) if clone.name == "stays" else succeed(None)

    def run_until(self, gate, op=INSTALL):
        """Run an operation that waits for ``gate``, and may be given up."""

        async def body(job):
            job.clones.append(Path("clone"))
            return await job.until(lambda: gate)

        return maybeDeferred(self.jobs.run, Request(op), body)

    def answered(self, result):
        """Write the answer into the events."""
        self.events.append("answer")
        return result


class JobsTests(JobsTestCase):
    """Tests for ``Jobs``."""

    def test_clone_that_stays(self):
        """What can't be removed is logged, and the rest is removed."""

        async def body(job):
            job.clones += [Path("stays"), Path("clone")]
            raise BridgeError(Code.BAD_REQUEST, "no")

        self.failureResultOf(self.jobs.run(Request(INSTALL), body), BridgeError)
        self.assertEqual(self.events, ["stays removed", "clone removed"])
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_defect_reveals_nothing_of_itself(self):
        """A defect is logged whole, and answered as ``internal``."""
        for defect in (KeyError("secret"), OSError(errno.EBADF, "secret")):
            job = self.run_until(fail(defect))
            error = self.failureResultOf(job, BridgeError).value
            self.assertEqual(error.code, Code.INTERNAL)
            self.assertNotIn("secret", error.message)
            self.assertEqual(len(self.flushLoggedErrors(type(defect))), 1)

    def test_full_disk(self):
        """What a full disk did is answered, and is no defect to log in full."""
        full = OSError(errno.ENOSPC, "secret", "/home/secret")
        error = self.failureResultOf(self.run_until(fail(full)), BridgeError).value
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertIn(os.strerror(errno.ENOSPC), error.message)
        self.assertNotIn("secret", error.message)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_dropped_answer(self):
        """An operation goes on when nobody waits for its answer any more."""
        gate: Deferred[Any] = Deferred()
        job = self.run_until(gate)
        job.addErrback(lambda _: None)
        job.addCallback(self.events.append)
        job.cancel()
        gate.callback(5)
        self.assertEqual(self.events, [None])
        self.successResultOf(self.jobs.close())

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

        async def body(job):
            await job.hold(self.jobs.plugin_lock("sample"))
            await job.hold(self.jobs.commit_lock)
            raise BridgeError(Code.BAD_REQUEST, "no")

        for _ in range(2):
            self.failureResultOf(self.jobs.run(Request(INSTALL), body), BridgeError)
        self.assertFalse(self.jobs.commit_lock.locked)

    def test_one_lock_for_each_plugin(self):
        """A plugin's lock is the same for everybody, and no other's."""
        one = self.jobs.plugin_lock("sample")
        self.assertIs(self.jobs.plugin_lock("sample"), one)
        self.assertIsNot(self.jobs.plugin_lock("other"), one)


class CloseTests(JobsTestCase):
    """Tests for the end."""

    def test_what_waits_is_given_up(self):
        """A waiting operation ends, undone, and nothing begins any more."""
        gate: Deferred[Any] = Deferred(lambda d: self.events.append("withdrawn"))
        job = self.run_until(gate)
        self.successResultOf(self.jobs.close())
        error = self.failureResultOf(job, BridgeError).value
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertEqual(self.events, ["withdrawn", "clone removed"])
        again = self.failureResultOf(self.run_until(gate), BridgeError).value
        self.assertEqual(again.code, Code.UNAVAILABLE)

    def test_thread_is_waited_for(self):
        """What runs in a thread is stopped, and is over before the end."""
        gate: Deferred[Any] = Deferred(lambda d: self.events.append("cancelled"))
        seen = []

        async def body(job):
            seen.append(job)
            await gate
            job.raise_if_stopping()

        job = self.jobs.run(Request(INSTALL), body)
        closing = self.jobs.close()
        self.assertNoResult(closing)
        self.assertTrue(seen[0].stopping)
        gate.callback(None)
        self.successResultOf(closing)
        self.failureResultOf(job, BridgeError)
        self.assertEqual(self.events, [])

    def test_commit_is_waited_for(self):
        """What is being committed is finished."""
        gate: Deferred[Any] = Deferred()

        async def body(job):
            job.commit()
            await gate
            return 5

        job = self.jobs.run(Request(INSTALL), body)
        closing = self.jobs.close()
        also = self.jobs.close()
        self.assertNoResult(closing)
        gate.callback(None)
        self.successResultOf(closing)
        self.successResultOf(also)
        self.assertEqual(self.successResultOf(job), 5)


class OutcomeTests(JobsTestCase):
    """Tests for what is known of operations, and for joining them."""

    REF = Request(INSTALL, ("a",), ref="page-chose-this-1")

    def begin(self, gate, request=ANY):
        """Begin an operation that ends with ``gate``."""

        async def body(job):
            return await job.until(lambda: gate)

        return maybeDeferred(self.jobs.run, request, body)

    def test_under_way_and_ended(self):
        """What is under way is listed first, then what has ended, with how."""
        gate: Deferred[Any] = Deferred()
        self.begin(gate)
        self.begin(succeed(5))
        refused = BridgeError(Code.BAD_REQUEST, "no")
        self.failureResultOf(self.begin(fail(refused)))
        job, done, failed = self.jobs.recent()
        self.assertIsNone(job.outcome)
        self.assertTrue(job.cancellable)
        self.assertEqual((outcome_of(done).end, outcome_of(done).result), (End.DONE, 5))
        self.assertEqual(outcome_of(failed).end, End.REFUSED)
        self.assertIs(outcome_of(failed).error, refused)
        self.assertEqual(failed.started_at, NOW * 1000)
        self.assertFalse(done.cancellable)
        names = {one.name for one in (job, done, failed)}
        self.assertEqual(len(names), 3)
        gate.callback(None)

    def test_outcomes_are_kept_for_a_while(self):
        """An outcome is known for five minutes, and no longer."""
        self.begin(succeed(5), self.REF)
        self.clock.advance(OUTCOME_SECONDS - 1)
        self.assertEqual(len(self.jobs.recent()), 1)
        self.clock.advance(1)
        self.assertEqual(self.jobs.recent(), [])
        self.assertEqual(self.successResultOf(self.begin(succeed(6), self.REF)), 6)

    def test_attack_many_outcomes(self):
        """However many operations end, only the last ones are kept."""
        for number in range(OUTCOMES + 5):
            self.begin(succeed(number))
        kept = [outcome_of(one).result for one in self.jobs.recent()]
        self.assertEqual(kept, list(range(5, OUTCOMES + 5)))

    def test_same_ref_joins(self):
        """A request that is repeated gets the outcome of the first, and runs once."""
        gate: Deferred[Any] = Deferred()
        first = self.begin(gate, self.REF)
        second = self.begin(succeed("another run"), self.REF)
        self.assertNoResult(second)
        gate.callback(5)
        self.assertEqual(self.successResultOf(first), 5)
        self.assertEqual(self.successResultOf(second), 5)
        late = self.begin(succeed("another run"), self.REF)
        self.assertEqual(self.successResultOf(late), 5)
        self.assertEqual(len(self.jobs.recent()), 1)

    def test_attack_ref_of_another_request(self):
        """Who knows a page's name for its operation gets nothing else done by it."""
        self.begin(Deferred(), self.REF)
        guessed = Request(INSTALL, ("evil",), ref=self.REF.ref)
        error = self.failureResultOf(self.begin(succeed(1), guessed), BridgeError)
        self.assertEqual(error.value.message, "ref: another operation has this name")
        self.assertEqual(len(self.jobs.recent()), 1)

    def test_watcher(self):
        """An operation with a watcher of its own reports to nobody else."""
        own = FakeSink([])

        async def body(job):
            job.reached(Step.CLONE, "Cloning")

        self.jobs.run(Request(INSTALL), body, own)
        self.assertEqual([p.step for p in own.progresses], ["clone"])
        self.assertEqual(self.events, [])


class CancelTests(JobsTestCase):
    """Tests for ``Jobs.cancel``."""

    def only(self):
        """The one operation there is."""
        (job,) = self.jobs.recent()
        return job

    def refusal(self, name):
        """Fail to cancel; the message."""
        return self.failureResultOf(
            maybeDeferred(self.jobs.cancel, name), BridgeError
        ).value

    def test_cancelled(self):
        """Its clone is removed, its caller refused, and only then it is answered."""
        gate: Deferred[Any] = Deferred(lambda d: self.events.append("withdrawn"))
        job = self.run_until(gate)
        cancelling = self.jobs.cancel(self.only().name)
        cancelling.addCallback(lambda _: self.events.append("answer"))
        error = self.failureResultOf(job, BridgeError).value
        self.assertEqual(error.code, Code.BAD_REQUEST)
        self.assertTrue(error.message.startswith("cancelled: "))
        self.assertEqual(self.events, ["withdrawn", "clone removed", "answer"])
        outcome = self.only().outcome
        self.assertEqual((outcome.end, outcome.error), (End.CANCELLED, error))

    def test_commit(self):
        """What is being committed goes on."""
        gate: Deferred[Any] = Deferred()

        async def body(job):
            job.commit()
            return await gate

        job = self.jobs.run(Request(INSTALL), body)
        message = self.refusal(self.only().name).message
        self.assertTrue(message.startswith("not_cancellable: "), message)
        gate.callback(5)
        self.assertEqual(self.successResultOf(job), 5)

    def test_unknown_and_ended(self):
        """What has ended, and what never was, can't be cancelled."""
        self.run_until(succeed(1))
        for name in ("nothing", self.only().name):
            message = self.refusal(name).message
            self.assertTrue(message.startswith("not_cancellable: "), message)
            self.assertNotIn(name, message)
