from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.bucket import TokenBucket

waits = st.lists(st.floats(0, 3), max_size=60)
rates = st.floats(0.1, 500)
bursts = st.integers(1, 50)


class BucketTests(SynchronousTestCase):
    def bucket(self, rate: float = 5.0, burst: int = 2) -> TokenBucket:
        """Build a bucket that reads ``self.clock``."""
        self.clock = Clock()
        return TokenBucket(rate, burst, self.clock.seconds)

    def test_is_full(self) -> None:
        """It is full until a token is taken, and again when that came back."""
        bucket = self.bucket()
        self.clock.advance(3600)
        self.assertTrue(bucket.is_full)
        self.assertEqual([bucket.take() for _ in range(3)], [0.0, 0.0, None])
        self.clock.advance(0.19)
        self.assertIsNone(bucket.take())
        self.clock.advance(0.01)
        self.assertFalse(bucket.is_full)
        self.assertEqual(bucket.take(), 0.0)
        self.clock.advance(0.4)
        self.assertTrue(bucket.is_full)

    @given(rates, bursts, st.lists(st.floats(0, 3) | st.none(), max_size=200))
    def test_attack_asking_again_and_again(self, rate, burst, steps):
        """Whenever it is asked, time passes once."""
        now, passed = [1000.0], 0
        bucket = TokenBucket(rate, burst, lambda: now[0])
        for step in steps:
            if step is None:
                passed += bucket.take() is not None
                continue
            # Looking at the level must not change what comes of it.
            bucket.wait()
            now[0] += step
        self.assertLessEqual(passed, burst + rate * (now[0] - 1000.0) + 1e-6)

    @given(rates, bursts, waits, st.floats(0, 5))
    def test_paced_starts_keep_the_rate_and_the_order(
        self, rate: float, burst: int, pauses: list[float], patience: float
    ) -> None:
        """Starts never come out of order, too late, or faster than the rate."""
        bucket = self.bucket(rate, burst)
        starts: list[float] = []
        for pause in pauses:
            self.clock.advance(pause)
            wait = bucket.take(patience)
            if wait is not None:
                self.assertLessEqual(wait, patience)
                starts.append(self.clock.seconds() + wait)
        self.assertEqual(starts, sorted(starts))
        for index, start in enumerate(starts):
            self.assertLessEqual(index + 1, burst + rate * start + 1e-6)
