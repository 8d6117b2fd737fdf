"""Operations under way and ended: how they run, are joined, cancelled and finished."""

import errno
import itertools
import os
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet.defer import (
    CancelledError,
    Deferred,
    DeferredLock,
    fail,
    maybeDeferred,
    succeed,
)
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.operations.jobs import End, Job, Jobs, Request, cancelled
from bridge.protocol.errors import BridgeError, Code, unavailable
from bridge.protocol.limits import OPERATIONS_UNDER_WAY, OUTCOME_SECONDS, OUTCOMES
from bridge.protocol.steps import Operation, Step

from ...pages import Page
from .bench import NOW

INSTALL = Operation.INSTALL
ANY = Request(INSTALL)
REF = Request(INSTALL, ("a",), ref="page-chose-this-1")
WHY = cancelled("the operation was cancelled")


class JobTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.watch = mock.Mock()
        self.job = Job(ANY, self.watch)

    def test_interrupt(self) -> None:
        """What is waited for is cancelled, nothing goes on, the first reason stays."""
        waiting: Deferred[Any] = Deferred()
        going = Deferred.fromCoroutine(self.job.until(lambda: waiting))
        self.job.interrupt(WHY)
        self.job.interrupt(cancelled("it was again"))
        self.failureResultOf(going, CancelledError)
        self.assertFalse(self.job.cancellable)
        step = partial(self.job.reached, Step.COMPARE, "Comparing")
        for go_on in (self.job.raise_if_stopping, self.job.commit, step):
            error = self.assertRaises(BridgeError, go_on)
            self.assertIs(error, WHY)
        more = Deferred.fromCoroutine(self.job.until(Deferred[None]))
        self.assertIs(self.failureResultOf(more).value, WHY)
        self.assertEqual(self.watch.mock_calls, [])

    def test_interrupted_while_waiting_for_a_lock(self) -> None:
        """A lock that was not acquired is not released, either."""
        lock = DeferredLock()
        self.successResultOf(lock.acquire())
        holding = Deferred.fromCoroutine(self.job.hold(lock))
        self.job.interrupt(WHY)
        self.failureResultOf(holding, CancelledError)
        self.job.end(0)
        self.assertTrue(lock.locked)


class JobsTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.events: list[Any] = []
        self.clock, self.day = Clock(), Clock()
        self.day.advance(NOW)
        names = itertools.count(1)
        self.jobs = Jobs(
            mock.Mock(),
            self.clock,
            self.day.seconds,
            lambda: f"{next(names):016x}",
            self.remove,
        )

    def remove(self, clone: Path) -> Deferred[None]:
        self.events.append(f"{clone} removed")
        failing = {"stays": OSError("in the way"), "thread": unavailable("none")}
        error = failing.get(clone.name)
        return fail(error) if error else succeed(None)

    def begin(self, gate: Deferred[Any], request: Request = ANY) -> Deferred[Any]:
        """Begin an operation that waits for ``gate``, and may be cancelled."""

        async def body(job: Job, *_: str) -> Any:
            job.clones.append(Path("clone"))
            return await job.until(lambda: gate)

        return maybeDeferred(self.jobs.run, request, body)

    def withdrawn(self) -> Deferred[Any]:
        """Something to wait for that notes when it is cancelled."""
        return Deferred(lambda _: self.events.append("withdrawn"))

    def error(self, asked: Deferred[Any]) -> BridgeError:
        return self.failureResultOf(asked, BridgeError).value


class JobsTests(JobsTestCase):
    @mock.patch("bridge.plugins.operations.jobs.trim")
    def test_refused(self, trim: mock.Mock) -> None:
        """All its locks, trees and memory are given back; what stays is logged."""

        async def body(job: Job, *_: str) -> None:
            await job.hold(self.jobs.plugin_lock("sample"))
            await job.hold(self.jobs.commit_lock)
            job.clones += [Path("stays"), Path("thread"), Path("clone")]
            raise BridgeError(Code.BAD_REQUEST, "no")

        for runs in (1, 2):
            self.events.clear()
            self.error(self.jobs.run(ANY, body))
            removed = ["stays removed", "thread removed", "clone removed"]
            self.assertEqual(self.events, removed)
            self.assertEqual(trim.call_count, runs)
            self.assertEqual(len(self.flushLoggedErrors(OSError, BridgeError)), 2)
        self.assertFalse(self.jobs.commit_lock.locked)

    def test_defects(self) -> None:
        """Logged whole, they reveal nothing; a full disk is named, and is none."""
        full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
        for defect, shown, logged in (
            (KeyError("secret"), "see the daemon's log", 1),
            (OSError(errno.EIO, "secret"), "see the daemon's log", 1),
            (OSError("secret"), "see the daemon's log", 1),
            *((OSError(n, "secret", "/home/secret"), os.strerror(n), 0) for n in full),
        ):
            error = self.error(self.begin(fail(defect)))
            self.assertEqual(error.code, Code.INTERNAL)
            self.assertIn(shown, error.message)
            self.assertNotIn("secret", error.message)
            self.assertEqual(len(self.flushLoggedErrors(type(defect))), logged)

    def test_attack_many_operations(self) -> None:
        """A page has four at once; others have theirs, and so has the terminal."""
        page, gate = Request(INSTALL, caller=Page()), Deferred[Any]()
        self.begin(gate, page)
        for _ in range(3):
            self.begin(Deferred(), page)
        error = self.error(self.begin(succeed(1), page))
        why = "4 plugin operations of this page are under way; wait for one to end"
        self.assertEqual((error.code, error.message), (Code.UNAVAILABLE, why))
        # Builds have places of their own.
        build = Request(Operation.BUILD, caller=page.caller)
        for _ in range(OPERATIONS_UNDER_WAY):
            self.begin(Deferred(), build)
        self.assertEqual(self.error(self.begin(succeed(1), build)).code, error.code)
        for _ in range(4, OPERATIONS_UNDER_WAY):
            self.begin(Deferred())
        self.assertEqual(self.error(self.begin(succeed(1))).code, Code.UNAVAILABLE)
        gate.callback(1)
        self.assertEqual(self.successResultOf(self.begin(succeed(1), page)), 1)


class OutcomeTests(JobsTestCase):
    """Tests for what is known of operations, and for joining them."""

    def test_outcomes_are_kept_for_a_while(self) -> None:
        """An outcome is known for five minutes, and no longer."""
        self.begin(succeed(5), REF)
        # The time of day is set.
        self.day.advance(OUTCOME_SECONDS)
        self.clock.advance(OUTCOME_SECONDS - 1)
        self.assertEqual([one.cancellable for one in self.jobs.recent()], [False])
        self.clock.advance(1)
        self.assertEqual(self.jobs.recent(), [])
        self.assertEqual(self.successResultOf(self.begin(succeed(6), REF)), 6)

    def test_attack_many_outcomes(self) -> None:
        """However many operations end, only the last ones are kept."""
        for number in range(OUTCOMES + 5):
            self.begin(succeed(number))
        kept = [one.result for one in self.jobs.recent()]
        self.assertEqual(kept, list(range(5, OUTCOMES + 5)))

    def test_attack_ref_of_another_request(self) -> None:
        """Who knows a page's name for its operation gets nothing else done by it."""
        self.begin(Deferred(), REF)
        guessed = Request(INSTALL, ("evil",), ref=REF.ref)
        error = self.error(self.begin(succeed(1), guessed))
        self.assertEqual(error.message, "ref: another operation has this name")
        self.assertEqual(len(self.jobs.recent()), 1)


class EndTests(JobsTestCase):
    def test_cancelled(self) -> None:
        """Its clone is removed, its caller refused, then it is answered."""
        other = self.begin(Deferred())
        asked = self.begin(self.withdrawn())
        _, job = self.jobs.recent()
        cancelling = self.jobs.cancel(job.name)
        cancelling.addCallback(lambda _: self.events.append("answer"))
        error = self.error(asked)
        self.assertEqual(error.code, Code.BAD_REQUEST)
        self.assertTrue(error.message.startswith("cancelled: "))
        self.assertEqual(self.events, ["withdrawn", "clone removed", "answer"])
        self.assertEqual((job.outcome, job.error), (End.CANCELLED, error))
        # What has ended, and what never was, can't be cancelled.
        for name in ("nothing", job.name):
            message = self.error(maybeDeferred(self.jobs.cancel, name)).message
            self.assertTrue(message.startswith("not_cancellable: "), message)
            self.assertNotIn(name, message)
        self.assertNoResult(other)

    def test_several(self) -> None:
        """At the end of the daemon each is cancelled."""
        asked = [self.begin(self.withdrawn()) for _ in range(4)]
        self.successResultOf(self.jobs.close())
        for one in asked:
            self.assertEqual(self.error(one).code, Code.UNAVAILABLE)

    def test_thread_is_waited_for(self) -> None:
        """What runs in a thread is stopped, and is over before both ends."""
        gate = self.withdrawn()

        async def body(job: Job, *_: str) -> None:
            await gate
            job.raise_if_stopping()

        asked = self.jobs.run(ANY, body)
        closing = [self.jobs.close(), self.jobs.close()]
        self.assertNoResult(closing[0])
        gate.callback(5)
        for one in closing:
            self.successResultOf(one)
        self.error(asked)
        self.assertEqual(self.events, [])
