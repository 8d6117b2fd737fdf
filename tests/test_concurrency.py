import threading
from typing import Any
from unittest import mock

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency import (
    Expiring,
    Holder,
    Pool,
    Shares,
    ThrottledCounter,
    settled,
    stoppable,
)
from bridge.protocol.errors import BridgeError, Code

from .pages import Page
from .reactors import reactor


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


class SharesTests(SynchronousTestCase):
    """Tests for three places, so two of one holder, of which three may wait."""

    def setUp(self) -> None:
        self.shares = Shares("looks", 3, 6, 3)
        self.begun: list[tuple[str, Deferred[str]]] = []

    async def _look(self, name: str, holder: Holder | None, reads: bool) -> str:
        async with self.shares.place(holder, reads=reads) as place:
            work: Deferred[str] = Deferred()
            place.end = work.cancel
            self.begun.append((name, work))
            return await work

    def look(self, name, holder=None, *, reads=True):
        """Take a place, until ``end`` of the name."""
        return Deferred.fromCoroutine(self._look(name, holder, reads))

    def names(self) -> str:
        """The names of what has begun, in that order."""
        return "".join(name for name, _ in self.begun)

    def end(self, name: str) -> None:
        dict(self.begun)[name].callback(name)

    def refusal(self, asked: Deferred[Any]) -> str:
        error = self.failureResultOf(asked, BridgeError).value
        self.assertIs(error.code, Code.UNAVAILABLE)
        return str(error.message)

    def test_callers_in_turn(self) -> None:
        """Next is who has fewest, or waited longest; two leave one to a third."""
        first, second, late = Page(), Page(), Page()
        for name in "abcde":
            self.look(name, first)
        for name in "vwx":
            self.look(name, second)
        self.look("z", late)
        self.assertEqual(self.names(), "abv")
        self.end("a")
        self.assertEqual(self.names(), "abvz")
        self.end("b")
        self.assertEqual(self.names(), "abvzc")
        self.end("z")
        self.assertEqual(self.names(), "abvzc")
        self.look("y")
        self.assertEqual(self.names(), "abvzcy")

    def test_whoever_goes_gives_everything_back(self) -> None:
        """Waits are dropped, reads ended; of what has effects, the last two go on."""
        page = Page()
        reads = self.look("a", page)
        goes_on = [self.look("b", page, reads=False)]
        waits = [self.look(name, page, reads=name == "c") for name in "cd"]
        page.go()
        for dropped in (reads, *waits):
            self.assertEqual(self.refusal(dropped), "who asked for this has gone")
        for name in "xy":
            self.assertNoResult(goes_on[0])
            page = Page()
            goes_on.append(self.look(name, page, reads=False))
            page.go()
        self.assertEqual(self.names(), "abxy")
        self.refusal(goes_on[0])
        self.end("x")
        self.assertEqual(self.successResultOf(goes_on[1]), "x")
        self.refusal(self.look("z", page))

    def test_failures_and_cancelling(self) -> None:
        """A failure is passed on, and the place is free again; one can be cancelled."""
        failing = self.look("a")
        dict(self.begun)["a"].errback(ZeroDivisionError())
        self.failureResultOf(failing, ZeroDivisionError)
        running, also, waiting = self.look("b"), self.look("c"), self.look("d")
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.look("e")
        self.assertEqual(self.names(), "abce")
        self.assertNoResult(also)

    def test_close(self) -> None:
        """At the end nothing begins, everything is ended, and that is waited for."""
        asked = [self.look(name, reads=False) for name in "abc"]
        self.assertEqual(self.names(), "ab")
        self.shares._taken[0].end = lambda: None
        closing = self.shares.close()
        self.assertIn("shutting down", self.refusal(asked[1]))
        self.assertIn("shutting down", self.refusal(asked[2]))
        self.assertNoResult(closing)
        self.end("a")
        self.successResultOf(closing)
        self.assertEqual(self.successResultOf(asked[0]), "a")
        self.assertIn("shutting down", self.refusal(self.look("d")))
        self.successResultOf(self.shares.close())

    def test_stopped_for_another_reason(self) -> None:
        """The first reason counts, whatever the work fails with."""
        place = self.shares.place(None)
        place.stop(BridgeError(Code.UNAVAILABLE, "first"))
        place.stop(BridgeError(Code.UNAVAILABLE, "second"))

        async def enter() -> None:
            async with place:
                raise AssertionError

        self.assertEqual(self.refusal(Deferred.fromCoroutine(enter())), "first")
        self.assertEqual(self.shares._taken, [])


class ExpiringTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Keep two."""
        self.clock = Clock()
        self.dropped: list[str] = []
        self.kept = Expiring[str](self.clock, 10, self.dropped.append)
        self.kept.keep("a")
        self.clock.advance(4)
        self.kept.keep("b")

    def test_expiry(self) -> None:
        """Each is dropped in its time, unless it was used again or taken."""
        self.kept.keep("c")
        self.kept.take("c")
        self.clock.advance(5)
        self.kept.keep("a")
        self.clock.advance(5)
        self.assertEqual((self.dropped, list(self.kept)), (["b"], ["a"]))
        self.clock.pump([4.9, 0.1])
        self.assertEqual(self.dropped, ["b", "a"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_too_many(self) -> None:
        """The oldest give way; to be used again needs no place."""
        self.kept.keep("a", at_most=2)
        self.kept.keep("c", at_most=2)
        self.assertEqual((self.dropped, list(self.kept)), (["b"], ["c", "a"]))

    def test_close(self) -> None:
        """All are dropped, and no timer is left."""
        self.kept.close()
        self.assertEqual(self.dropped, ["a", "b"])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ThrottledCounterTests(SynchronousTestCase):
    def test_the_rest(self) -> None:
        """At the end the rest is reported, once, and what comes later at once."""
        clock = Clock()
        printed: list[tuple[str, int]] = []
        counter = ThrottledCounter(clock, lambda *counted: printed.append(counted))
        for kind in "aab":
            counter.add(kind)
        clock.advance(1)
        found = [("a", 1), ("a", 1), ("b", 1)]
        self.assertEqual(printed, found)
        counter.add("a", 2)
        clock.advance(1)
        found.append(("a", 2))
        self.assertEqual(printed, found)
        counter.add("a", 2)
        counter.close()
        counter.add("a", 3)
        self.assertEqual(printed, [*found, ("a", 2), ("a", 3)])
        self.assertEqual(clock.getDelayedCalls(), [])
