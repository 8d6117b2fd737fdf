from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.osc.pacing import Pacing
from bridge.osc.packets import Argument, Kind, Message

CHANGE = "/avatar/change"


def message(address: str, value: int = 0) -> Message:
    """Make a message."""
    return Message(address, [Argument(Kind.INT, value)])


class PacingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.pushed: list[tuple[float, Message]] = []
        self.pacing = Pacing(self.clock, self.push)

    def push(self, given: Message) -> None:
        self.pushed.append((self.clock.seconds(), given))

    def values(self) -> list[Any]:
        return [given.args[0].value for _, given in self.pushed]

    def test_turns_do_not_come_too_soon(self) -> None:
        """A turn that was asked for by another address is not too soon for one."""
        self.pacing.put(message("/a", 1))
        self.pacing.put(message("/a", 2))
        self.clock.advance(0.02)
        for number in (3, 4):
            self.pacing.put(message("/b", number))
        self.clock.advance(0.014)
        self.assertEqual(self.values(), [1, 3, 2])
        self.clock.advance(0.034)
        self.assertEqual(self.values(), [1, 3, 2, 4])

    def test_who_waits_is_not_overtaken(self) -> None:
        """What comes when a second has had all it may have waits behind the others."""
        for number in range(121):
            self.pacing.put(message(f"/{number}", number))
        self.clock.advance(0.99)
        self.pacing.put(message("/late", -1))
        self.clock.advance(0.05)
        self.assertEqual(self.values()[120:], [120, -1])

    def test_attack_endless_addresses(self) -> None:
        """What waits is bounded; the rest is dropped and counted."""
        for number in range(100_000):
            self.pacing.put(message(f"/{number}"))
        self.assertEqual(self.pacing.dropped, 100_000 - 120 - 512)
        self.clock.pump([1 / 30] * 400)
        self.assertEqual(len(self.pushed), 120 + 512)
        self.clock.advance(2)
        self.pacing.put(message("/a"))
        self.assertLessEqual(len(self.pacing._last), 120)

    def test_stop(self) -> None:
        """Nothing is pushed after it; what waited counts as dropped."""
        self.pacing.put(message("/a"))
        self.pacing.put(message("/a"))
        self.pacing.stop()
        self.clock.advance(1)
        self.assertEqual((len(self.pushed), self.pacing.dropped), (1, 1))
        self.pacing.stop()

    @given(
        st.lists(
            st.tuples(st.floats(0, 0.2), st.integers(0, 150), st.integers(1, 200)),
            max_size=40,
        )
    )
    @settings(max_examples=30)
    def test_never_too_often(self, steps: list[tuple[float, int, int]]) -> None:
        """
        Whatever comes: both rates are kept, nothing is lost uncounted, and each change
        of the avatar is pushed after all that came before it, and before all others.
        """
        self.setUp()
        sent, last = 0, {}
        for pause, first, count in steps:
            self.clock.advance(pause)
            for number in range(first, first + count):
                sent += 1
                address = f"/{number}" if number % 50 else CHANGE
                last[address] = sent
                self.pacing.put(message(address, sent))
        self.clock.pump([1 / 30] * 200)
        self.assertEqual(len(self.pushed) + self.pacing.dropped, sent)
        times = [when for when, _ in self.pushed]
        for begun, late in zip(times, times[120:], strict=False):
            self.assertGreaterEqual(late - begun, 1 - 1e-6)
        by_address: dict[str, float] = {}
        for when, pushed in self.pushed:
            before = by_address.get(pushed.address, -1.0)
            self.assertGreaterEqual(when - before, 1 / 30 - 1e-6)
            by_address[pushed.address] = when
        newest = {m.address: m.args[0].value for _, m in self.pushed}
        self.assertEqual(newest, last)
        for at, (_, pushed) in enumerate(self.pushed):
            if pushed.address == CHANGE:
                values = self.values()
                self.assertEqual(max(values[: at + 1]), values[at])
                self.assertEqual(min(values[at:]), values[at])

    def test_changes_let_nobody_starve(self) -> None:
        """More addresses than a second may have, and a change in each: all come."""
        for second in range(10):
            for number in range(300):
                self.pacing.put(message(f"/{number}", second))
            self.pacing.put(message(CHANGE))
            self.clock.pump([1 / 30] * 30)
        self.assertEqual(len({one.address for _, one in self.pushed}), 301)
