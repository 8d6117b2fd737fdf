from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits


class LimitTests(SynchronousTestCase):
    def test_dead_peer_is_gone_within_a_minute(self) -> None:
        """A ping and the wait for its answer take less than 60 seconds."""
        self.assertLessEqual(limits.PING_SECONDS + limits.PONG_SECONDS, 60)
