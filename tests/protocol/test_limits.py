"""Tests for bridge.protocol.limits."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits


class LimitTests(SynchronousTestCase):
    """Tests for the numbers callers run into."""

    def test_documented(self) -> None:
        """The numbers callers were promised are these."""
        for number, promised in (
            (limits.HELLO_SECONDS, 5),
            (limits.HELLO_FRAME_BYTES, 4096),
            (limits.FRAME_BYTES, 8 * 1024 * 1024),
            (limits.REST_BODY_BYTES, limits.FRAME_BYTES),
            (limits.JSON_DEPTH, 64),
            (limits.REQUEST_ID_CHARACTERS, 128),
            (limits.NAME_CHARACTERS, 64),
            (limits.SOCKETS_AWAITING_HELLO, 128),
            (limits.SOCKETS_AUTHENTICATED, 64),
            (limits.UNSENT_BYTES, 32 * 1024 * 1024),
            (limits.SLOW_CLOSE_SECONDS, 5),
            (limits.HTTP_REQUESTS_PER_TURN, 64),
            (limits.RATE_PER_SECOND, 5),
            (limits.RATE_BURST, 10),
            (limits.PACED_SECONDS, 3),
            (limits.LIGHT_PER_SECOND, 120),
            (limits.LIGHT_BURST, 240),
            (limits.CONTROLS_BEFORE_HELLO, 8),
            (limits.LOG_FRAMES_PER_SECOND, 200),
            (limits.LOG_FRAMES_BURST, 400),
            (limits.LOG_FLOOD_SECONDS, 10),
            (limits.UPDATES_ANSWER_SECONDS, 3.5),
            (limits.UPDATES_FRESH_SECONDS, 60),
            (limits.UPDATES_AT_ONCE, 16),
            (limits.UPDATE_SECONDS, 10),
            (limits.UPDATE_COMMITS, 50),
            (limits.COMMIT_SUMMARY_CHARACTERS, 200),
        ):
            self.assertEqual(number, promised)

    def test_dead_peer_is_gone_within_a_minute(self) -> None:
        """A ping and the wait for its answer take less than 60 seconds."""
        self.assertLessEqual(limits.PING_SECONDS + limits.PONG_SECONDS, 60)

    def test_positive(self) -> None:
        """No limit is zero or less, which would refuse everything."""
        numbers = {n: v for n, v in vars(limits).items() if n.isupper()}
        self.assertTrue(numbers)
        for name, number in numbers.items():
            self.assertGreater(number, 0, name)
