"""Tests for bridge.protocol.limits."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits


class LimitTests(SynchronousTestCase):
    def test_dead_peer_is_gone_within_a_minute(self) -> None:
        """A ping and the wait for its answer take less than 60 seconds."""
        self.assertLessEqual(limits.PING_SECONDS + limits.PONG_SECONDS, 60)

    def test_positive(self) -> None:
        """No limit is zero or less, which would refuse everything."""
        numbers = {n: v for n, v in vars(limits).items() if n.isupper()}
        self.assertTrue(numbers)
        for name, number in numbers.items():
            self.assertGreater(number, 0, name)
