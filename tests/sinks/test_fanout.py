from typing import Any

from twisted.internet.defer import Deferred, gatherResults, maybeDeferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.protocol.limits import SINK_SECONDS, SINK_START_SECONDS
from bridge.sinks.fanout import Fanout, UnavailableError
from tests.contracts import SinkContract

from .fake import FakeSink, failing
from .samples import LEAST


class FakeContractTests(SinkContract, TestCase):
    """The fake keeps the contract too, or what it proves is nothing."""

    def sink(self):
        return FakeSink()

    async def there(self, sink):
        await maybeDeferred(sink.start)


class DeliverTests(SynchronousTestCase):
    def setUp(self):
        self.clock = Clock()

    def deliver(self, *sinks):
        fanout = Fanout(self.clock, sinks)
        self.successResultOf(fanout.start())
        return gatherResults([fanout.deliver(sink, LEAST) for sink in sinks])

    def test_defect(self):
        """A defect of a sink is logged in full, and reported without detail."""
        sink = FakeSink("a", showing=failing(ZeroDivisionError("Zx9-SECRET-q7")))
        (failed,) = self.successResultOf(self.deliver(sink))
        self.assertIn("it failed", failed)
        self.assertNotIn("SECRET", failed)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_attack_sink_that_hangs(self):
        """One that never answers delays nobody for long, and is cancelled."""
        cancelled: list[Any] = []
        sinks = (
            FakeSink("a", showing=lambda: Deferred(cancelled.append)),
            FakeSink("b", showing=Deferred),
            FakeSink("c"),
        )
        delivering = self.deliver(*sinks)
        self.assertEqual(sinks[2].shown, [LEAST])
        self.assertNoResult(delivering)
        self.clock.advance(SINK_SECONDS)
        late = "unavailable: no answer in time"
        self.assertEqual(self.successResultOf(delivering), [late, late, None])
        self.assertEqual(len(cancelled), 1)


class StartTests(SynchronousTestCase):
    def setUp(self):
        self.clock = Clock()
        self.events = self.enterContext(capturedLogs())

    def skipped(self):
        """Which sinks are skipped by the log, and why."""
        return [
            (e["name"], e["why"])
            for e in self.events
            if "skipped" in str(e["log_format"])
        ]

    def test_skipped(self):
        """One that fails to start is logged and is no target; a late one is logged."""
        sinks = (
            FakeSink("a", starting=failing(UnavailableError("no bus"))),
            FakeSink("b"),
            FakeSink("c", starting=failing(ZeroDivisionError())),
            FakeSink("d", starting=Deferred),
        )
        fanout = Fanout(self.clock, sinks)
        starting = fanout.start()
        self.assertNoResult(starting)
        self.clock.advance(SINK_START_SECONDS)
        self.successResultOf(starting)
        # The last one has started as soon as it was asked.
        self.assertEqual([sink.name for sink in fanout.targets()], ["b", "d"])
        first, second, third = self.skipped()
        self.assertEqual(first, ("a", "unavailable: no bus"))
        self.assertEqual(second[0], "c")
        self.assertEqual(third, ("d", "unavailable: no answer in time"))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_shutdown_while_one_starts(self):
        """A start that is cut short is no timeout, and leaves no timer."""
        cancelled: list[Any] = []
        sink = FakeSink("a", starting=lambda: Deferred(cancelled.append))
        starting = Fanout(self.clock, [sink]).start()
        starting.cancel()
        self.assertEqual(len(cancelled), 1)
        self.assertEqual(self.skipped(), [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_shutdown_while_one_delivers(self):
        """What is under way at the end is answered, and leaves no timer."""
        sink = FakeSink("a", showing=Deferred)
        fanout = Fanout(self.clock, [sink])
        self.successResultOf(fanout.start())
        delivering = fanout.deliver(sink, LEAST)
        self.successResultOf(fanout.close())
        self.assertEqual(self.successResultOf(delivering), "unavailable: it has ended")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_close(self):
        """Every sink is ended, also after one that does not end well."""
        bad, good = FakeSink("a"), FakeSink("b")
        fanout = Fanout(self.clock, [bad, good])
        self.successResultOf(fanout.start())
        self.patch(FakeSink, "close", lambda s: 1 / 0 if s is bad else ended.append(s))
        ended: list[Any] = []
        self.successResultOf(fanout.close())
        self.assertEqual(ended, [good])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
