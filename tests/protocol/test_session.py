from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, CloseReason, Code
from bridge.protocol.frames import Logs, RefusedFrame, Request
from bridge.protocol.session import (
    TABLE,
    Close,
    CountRefusedHello,
    Dispatch,
    DropLogs,
    Effect,
    Rates,
    Refuse,
    Session,
    Welcome,
    WriteLogs,
)

REQUEST = Request("1", "state", "get")
LIGHT = Request("2", "osc", "send")
LOGS = Logs([])
ERROR = BridgeError(Code.BAD_REQUEST, "m")

INPUTS: dict[str, Callable[[Session], list[Effect]]] = {
    "hello_accepted": lambda s: s.hello_accepted(),
    "hello_refused": lambda s: s.hello_refused(),
    "requested": lambda s: s.requested(REQUEST),
    "logged": lambda s: s.logged(LOGS),
    "invalid_frame": lambda s: s.invalid_frame(RefusedFrame(ERROR)),
    "violated": lambda s: s.violated(CloseReason.TEXT_ONLY),
    "hello_timed_out": lambda s: s.hello_timed_out(),
    "ended": lambda s: s.ended(),
}

REQUIRED: list[Effect] = [CountRefusedHello(), Close(CloseReason.HELLO_REQUIRED)]


class SessionCase(SynchronousTestCase):
    def begin(self, rate: float = 5.0, burst: int = 2) -> Session:
        self.clock = Clock()
        light = frozenset({("osc", "send")})
        return Session(Rates(rate, burst, self.clock.seconds, light))

    def welcomed(self, rate: float = 5.0, burst: int = 2) -> Session:
        """Begin a session that is authenticated."""
        session = self.begin(rate, burst)
        self.assertEqual(session.hello_accepted(), [Welcome()])
        return session


class TableTests(SessionCase):
    def test_every_state_takes_every_input(self) -> None:
        """No input is without a transition in any state."""
        self.assertEqual(set(TABLE), {"awaiting hello", "authenticated", "closed"})
        for moves in TABLE.values():
            self.assertEqual(set(moves), set(INPUTS))
            self.assertLessEqual(
                {state for state, _ in moves.values()} - {None}, set(TABLE)
            )

    @given(st.lists(st.sampled_from(sorted(INPUTS)), max_size=12))
    def test_any_history(self, history: list[str]) -> None:
        """Whatever happens: one welcome at most, no call before it, one close."""
        session, done = self.begin(), []
        for name in history:
            done += INPUTS[name](session)
        kinds = [type(effect) for effect in done]
        self.assertLessEqual(kinds.count(Welcome), 1)
        self.assertLessEqual(kinds.count(Close), 1)
        for kind in (Dispatch, WriteLogs, Refuse):
            if kind in kinds:
                self.assertLess(kinds.index(Welcome), kinds.index(kind))
        if Close in kinds:
            self.assertEqual(kinds[-1], Close)


class TransitionTests(SessionCase):
    def test_before_hello(self) -> None:
        """Anything but a good hello, and silence, costs a token and closes."""
        unauthorized: list[Effect] = [
            CountRefusedHello(),
            Close(CloseReason.UNAUTHORIZED),
        ]
        effects: dict[str, list[Effect]] = dict.fromkeys(INPUTS, REQUIRED)
        effects |= {"hello_accepted": [Welcome()], "hello_refused": unauthorized}
        # A socket that goes by itself costs nothing.
        effects["ended"] = []
        for name, happen in INPUTS.items():
            self.assertEqual(happen(self.begin()), effects[name], name)

    def test_attack_frames_that_are_refused(self) -> None:
        """They cost a request each, as second hellos do: each has to be read."""
        for happen in (
            lambda s: s.invalid_frame(RefusedFrame(ERROR, "9")),
            lambda s: s.invalid_frame(RefusedFrame(ERROR)),
            lambda s: s.hello_refused(),
        ):
            session = self.welcomed(rate=1.0, burst=2)
            for _ in range(5):
                (effect,) = happen(session)
                self.assertIs(effect.error.code, Code.BAD_REQUEST)
            for (effect,) in (happen(session), session.requested(REQUEST)):
                assert isinstance(effect, Refuse)
                self.assertIs(effect.error.code, Code.RATE_LIMITED)
                self.assertEqual(effect.error.retry_after, 1)


class PacingTests(SessionCase):
    def test_hint_is_honest(self) -> None:
        """Who waits for as long as the hint is not refused again."""
        session = self.welcomed(rate=0.1, burst=1)
        session.requested(REQUEST)
        (effect,) = session.requested(REQUEST)
        assert isinstance(effect, Refuse)
        self.assertEqual(effect.error.retry_after, 7)
        self.clock.advance(7)
        (effect,) = session.requested(REQUEST)
        self.assertIsInstance(effect, Dispatch)

    def test_light_has_its_own_budget(self) -> None:
        """What pages call often, and costs little, is counted apart, at either rate."""
        for rate, burst in ((1.0, 1), (999.0, 999)):
            session = self.welcomed(rate=rate, burst=burst)
            for _ in range(max(240, burst)):
                self.assertEqual(session.requested(LIGHT), [Dispatch(LIGHT, 0.0)])
            self.assertEqual(session.requested(REQUEST), [Dispatch(REQUEST, 0.0)])
            (effect,) = session.requested(LIGHT)
            assert isinstance(effect, Dispatch)
            self.assertAlmostEqual(effect.after, 1 / max(120, rate), places=6)

    @given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=60))
    def test_attack_starving_others(self, asked: list[tuple[int, float]]) -> None:
        """However two sockets flood, a third one's request starts when it is due."""
        clock = Clock()
        rates = Rates(5.0, 2, clock.seconds, frozenset({("osc", "send")}))
        sessions = [Session(rates) for _ in range(3)]
        alone = Session(rates)
        for session in (*sessions, alone):
            session.hello_accepted()
        for number, pause in asked:
            clock.advance(pause)
            for _ in range(1 if number == 2 else 20):
                effects = sessions[number].requested(REQUEST)
                sessions[number].requested(LIGHT)
            if number == 2:
                # As if there were nobody else.
                self.assertEqual(effects, alone.requested(REQUEST))


class LogBudgetTests(SessionCase):
    def flood(self, session: Session, frames: int) -> list[Effect]:
        return [effect for _ in range(frames) for effect in session.logged(LOGS)]

    def test_dropped_and_counted(self) -> None:
        """Over the budget each record is dropped and counted, until it is filled."""
        session = self.welcomed()
        self.flood(session, 400)
        for records, count in (([1, 2, 3], 3), ([], 1), ("no list", 1)):
            self.assertEqual(
                session.logged(Logs(records)), [DropLogs(count, "they come too fast")]
            )
        self.clock.advance(1.0)
        self.assertEqual(self.flood(session, 1), [WriteLogs([])])

    def test_unreadable_frames_cost_as_much(self) -> None:
        """A flood of frames that cannot be read closes the socket, too."""
        session = self.welcomed()
        unreadable = RefusedFrame(ERROR, answered=False)
        for _ in range(21):
            done = [e for _ in range(450) for e in session.invalid_frame(unreadable)]
            self.clock.advance(0.5)
        self.assertEqual(self.flood(self.welcomed(), 1), [WriteLogs([])])
        self.assertIn(Close(CloseReason.LOG_FLOOD), done)

    def test_short_floods_are_forgiven(self) -> None:
        """Bursts with quiet seconds between them are no flood."""
        session = self.welcomed()
        for _ in range(20):
            done = self.flood(session, 410)
            self.assertNotIn(Close(CloseReason.LOG_FLOOD), done)
            self.clock.advance(2.0)
