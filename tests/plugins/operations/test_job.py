"""Tests for ``bridge.plugins.operations.job``."""

import errno
import os
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.operations.job import (
    End,
    Job,
    Outcome,
    Request,
    cancelled,
    reason,
)
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.steps import Step

from .bench import FakeSink

WHY = cancelled("the operation was cancelled")


class JobTests(SynchronousTestCase):
    """Tests for ``Job``."""

    def setUp(self) -> None:
        """Make one."""
        self.sink = FakeSink([])
        request = Request(Operation.INSTALL, ref="page-chose-this-1")
        self.job = Job(request, self.sink, "the-name")

    def test_progress_names_the_operation(self) -> None:
        """A report has both names, and whether it is not too late to cancel."""
        self.job.reached(Step.CLONE, "Cloning")
        self.job.commit()
        self.job.reached(Step.MOVE, "Moving")
        seen = [
            (p.operation, p.ref, p.step, p.cancellable) for p in self.sink.progresses
        ]
        self.assertEqual(
            seen,
            [
                ("the-name", "page-chose-this-1", "clone", True),
                ("the-name", "page-chose-this-1", "move", False),
            ],
        )

    def test_report_of_a_prompt(self) -> None:
        """A prompt within the operation is reported as what it is about."""
        self.job.reached(
            Step.AWAITING_CONFIRMATION, "Grow?", asking=Operation.MORE_PERMISSIONS
        )
        (progress,) = self.sink.progresses
        self.assertEqual((progress.op, progress.message), ("grow", "Grow?"))

    def test_interrupt(self) -> None:
        """What is waited for is cancelled, and nothing goes on."""
        waiting: Deferred[Any] = Deferred()
        going = Deferred.fromCoroutine(self.job.until(lambda: waiting))
        self.job.interrupt(WHY)
        self.failureResultOf(going, CancelledError)
        self.assertTrue(self.job.stopping)
        self.assertFalse(self.job.cancellable)
        for go_on in (self.job.raise_if_stopping, self.job.commit):
            with self.assertRaises(BridgeError) as caught:
                go_on()
            self.assertIs(caught.exception, WHY)

    def test_first_reason_stays(self) -> None:
        """A shutdown does not change why it was cancelled."""
        self.job.interrupt(WHY)
        self.job.interrupt()
        self.assertIs(self.job.why_stopped, WHY)

    def test_shutdown(self) -> None:
        """Without a reason it is the shutdown's."""
        self.job.interrupt()
        self.assertEqual(self.job.why_stopped.code, Code.UNAVAILABLE)

    def test_commit_is_not_interrupted(self) -> None:
        """From its commit on, nothing is cancelled."""
        self.job.commit()
        self.job.interrupt(WHY)
        self.assertFalse(self.job.stopping)
        self.job.raise_if_stopping()

    def test_interrupted_while_waiting_for_a_lock(self) -> None:
        """A lock that was not acquired is not released, either."""
        lock = DeferredLock()
        self.successResultOf(lock.acquire())
        holding = Deferred.fromCoroutine(self.job.hold(lock))
        self.job.interrupt(WHY)
        self.failureResultOf(holding, CancelledError)
        self.job.end(Outcome(End.CANCELLED, 0))
        self.assertTrue(lock.locked)


class RequestTests(SynchronousTestCase):
    """Tests for ``Request``."""

    def test_same(self) -> None:
        """What is asked for counts, and not who asks."""
        one = Request(Operation.INSTALL, ("a",), ref="x")
        self.assertTrue(one.is_same(Request(Operation.INSTALL, ("a",))))
        self.assertFalse(one.is_same(Request(Operation.INSTALL, ("b",), ref="x")))
        self.assertFalse(one.is_same(Request(Operation.UPDATE, ("a",), ref="x")))


class ReasonTests(SynchronousTestCase):
    """Tests for ``reason``."""

    def test_refusal(self):
        """A refusal has its own words."""
        self.assertEqual(reason(BridgeError(Code.UNAVAILABLE, "later")), "later")

    def test_disk(self):
        """A disk that takes no more is reported as the system names it."""
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
            error = OSError(number, "secret", "/home/secret")
            self.assertEqual(reason(error), os.strerror(number))

    def test_defect(self):
        """Everything else is a defect."""
        for defect in (KeyError("x"), OSError(errno.EIO, "x"), OSError("x")):
            self.assertIsNone(reason(defect))
