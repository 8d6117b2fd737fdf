from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.budgets import Budgets, TokenBucket
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.frames import Request

REQUEST = Request("1", "state", "get")
LIGHT = Request("2", "osc", "send")

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


class BudgetsCase(SynchronousTestCase):
    def begin(self, rate: float = 5.0, burst: int = 2) -> Budgets:
        self.clock = Clock()
        light = frozenset({("osc", "send")})
        return Budgets(rate, burst, self.clock.seconds, light)

    def refused(self, budgets: Budgets, request: Request = REQUEST) -> BridgeError:
        """Return the refusal of a request over the rate."""
        error = self.assertRaises(BridgeError, budgets.request, request)
        self.assertIs(error.code, Code.RATE_LIMITED)
        return error


class PacingTests(BudgetsCase):
    def test_attack_frames_that_are_refused(self) -> None:
        """They cost a request each: each has to be read."""
        budgets, given = self.begin(1.0, 2), BridgeError(Code.BAD_REQUEST, "m")
        for _ in range(5):
            self.assertIs(budgets.refused(given), given)
        for error in (budgets.refused(given), self.refused(budgets)):
            self.assertEqual((error.code, error.retry_after), (Code.RATE_LIMITED, 1))

    def test_hint_is_honest(self) -> None:
        """Who waits for as long as the hint is not refused again."""
        budgets = self.begin(0.1, 1)
        budgets.request(REQUEST)
        self.assertEqual(self.refused(budgets).retry_after, 7)
        self.clock.advance(7)
        budgets.request(REQUEST)

    def test_light_has_its_own_budget(self) -> None:
        """What pages call often, and costs little, is counted apart, at either rate."""
        for rate, burst in ((1.0, 1), (999.0, 999)):
            budgets = self.begin(rate, burst)
            for _ in range(max(240, burst)):
                self.assertEqual(budgets.request(LIGHT), 0.0)
            self.assertEqual(budgets.request(REQUEST), 0.0)
            after = budgets.request(LIGHT)
            self.assertAlmostEqual(after, 1 / max(120, rate), places=6)

    @given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=60))
    def test_attack_starving_others(self, asked: list[tuple[int, float]]) -> None:
        """However two sockets flood, a third one's request starts when it is due."""
        clock = Clock()
        given = 5.0, 2, clock.seconds, frozenset({("osc", "send")})
        sockets, alone = [Budgets(*given) for _ in range(3)], Budgets(*given)

        def start(budgets: Budgets) -> object:
            try:
                return budgets.request(REQUEST)
            except BridgeError as refused:
                return refused.retry_after, str(refused)

        for number, pause in asked:
            clock.advance(pause)
            for _ in range(1 if number == 2 else 20):
                started = start(sockets[number])
                sockets[number].request(LIGHT)
            if number == 2:
                # As if there were nobody else.
                self.assertEqual(started, start(alone))


class LogTests(BudgetsCase):
    def flood(self, budgets: Budgets, frames: int) -> None:
        for _ in range(frames):
            budgets.logs()

    def test_over_the_rate(self) -> None:
        """Over the budget each frame is dropped, until it is filled."""
        budgets = self.begin()
        self.flood(budgets, 399)
        self.assertEqual([budgets.logs(), budgets.logs()], [True, False])
        self.clock.advance(1.0)
        self.assertTrue(budgets.logs())

    def test_floods(self) -> None:
        """Ten seconds of one are too long; quiet seconds between are none of one."""
        for pause, is_flood in ((0.5, True), (2.0, False)):
            budgets = self.begin()
            for _ in range(21):
                self.assertFalse(budgets.log_flood)
                self.flood(budgets, 410)
                self.clock.advance(pause)
            self.assertEqual(budgets.log_flood, is_flood)
