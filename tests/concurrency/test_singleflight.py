"""Tests for bridge.concurrency.singleflight."""

from unittest import mock

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.concurrency.singleflight import SingleFlight


class SingleFlightTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.runs: list[Deferred[None]] = []
        self.flight = SingleFlight("testing", self.run_once)

    def run_once(self) -> Deferred[None]:
        self.runs.append(Deferred())
        return self.runs[-1]

    def test_cancelled(self) -> None:
        """A run that fails, or is cancelled, is logged, and keeps none from running."""
        self.flight.ask()
        self.flight.ask()
        self.runs[0].cancel()
        self.assertEqual(len(self.flushLoggedErrors(CancelledError)), 1)
        self.assertEqual(len(self.runs), 2)

    def test_failing_before_it_waits(self) -> None:
        """A body that raises at once fails as any other; so does a worse error."""
        for error in (ZeroDivisionError, SystemExit):
            flight = SingleFlight("testing", mock.Mock(side_effect=error))
            for _ in range(2):
                flight.ask()
                self.assertFalse(flight.is_running)
                self.successResultOf(flight.idle())
                self.assertEqual(len(self.flushLoggedErrors(error)), 1)

    def test_asked_for_by_who_waited(self) -> None:
        """Who is answered may ask again, and that run begins."""
        self.flight.ask()
        self.flight.idle().addCallback(lambda _: self.flight.ask())
        self.runs[0].callback(None)
        self.assertEqual(len(self.runs), 2)
        self.assertTrue(self.flight.is_running)
