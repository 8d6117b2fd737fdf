"""Tests for ``bridge.plugins.operations.underway.running``."""

import errno
import os
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.operations.underway.running import (
    Ref,
    Running,
    cancelled,
    reason,
    ref_of,
)
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.steps import Step

from ..bench import FakeAudience

WHY = cancelled("the operation was cancelled")


class RunningTests(SynchronousTestCase):
    """Tests for ``Running``."""

    def setUp(self) -> None:
        """Make one."""
        self.audience = FakeAudience([])
        ref = Ref("page-chose-this-1", ())
        self.running = Running(
            Operation.INSTALL, None, self.audience, "the-name", ref, 5
        )

    def test_progress_names_the_operation(self) -> None:
        """A report has both names, and whether it is not too late to cancel."""
        self.running.reached(Step.CLONE, "Cloning")
        self.running.commit()
        self.running.reached(Step.MOVE, "Moving")
        seen = [
            (p.operation, p.ref, p.step, p.cancellable)
            for p in self.audience.progresses
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
        self.running.reached(
            Step.AWAITING_CONFIRMATION, "Grow?", asking=Operation.MORE_PERMISSIONS
        )
        (progress,) = self.audience.progresses
        self.assertEqual((progress.op, progress.message), ("grow", "Grow?"))

    def test_interrupt(self) -> None:
        """What is waited for is cancelled, and nothing goes on."""
        waiting: Deferred[Any] = Deferred()
        going = Deferred.fromCoroutine(self.running.until(lambda: waiting))
        self.running.interrupt(WHY)
        self.failureResultOf(going, CancelledError)
        self.assertTrue(self.running.stopping)
        self.assertFalse(self.running.cancellable)
        for go_on in (self.running.raise_if_stopping, self.running.commit):
            with self.assertRaises(BridgeError) as caught:
                go_on()
            self.assertIs(caught.exception, WHY)

    def test_first_reason_stays(self) -> None:
        """A shutdown does not change why it was cancelled."""
        self.running.interrupt(WHY)
        self.running.interrupt()
        self.assertIs(self.running.why_stopped, WHY)

    def test_shutdown(self) -> None:
        """Without a reason it is the shutdown's."""
        self.running.interrupt()
        self.assertEqual(self.running.why_stopped.code, Code.UNAVAILABLE)

    def test_commit_is_not_interrupted(self) -> None:
        """From its commit on, nothing is cancelled."""
        self.running.commit()
        self.running.interrupt(WHY)
        self.assertFalse(self.running.stopping)
        self.running.raise_if_stopping()

    def test_interrupted_while_waiting_for_a_lock(self) -> None:
        """A lock that was not acquired is not released, either."""
        lock = DeferredLock()
        self.successResultOf(lock.acquire())
        holding = Deferred.fromCoroutine(self.running.hold(lock))
        self.running.interrupt(WHY)
        self.failureResultOf(holding, CancelledError)
        self.running.release()
        self.assertTrue(lock.locked)


class RefTests(SynchronousTestCase):
    """Tests for ``ref_of``."""

    def test_subject_is_part_of_it(self) -> None:
        """The same name with another subject is another reference."""
        self.assertIsNone(ref_of(None, "install", "a"))
        self.assertEqual(ref_of("x", "install", "a"), ref_of("x", "install", "a"))
        self.assertNotEqual(ref_of("x", "install", "a"), ref_of("x", "install", "b"))


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
