from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.concurrency.shares import Holder, Shares
from bridge.protocol.errors import BridgeError, Code

from ..pages import Page


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
