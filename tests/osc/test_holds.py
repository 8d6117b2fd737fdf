"""Tests for bridge.osc.holds."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.osc.holds import Holds


class HoldsTests(SynchronousTestCase):
    """Tests for who holds the port."""

    def setUp(self) -> None:
        """Begin with no hold."""
        self.clock = Clock()
        self.lengths: list[int] = []
        self.holds = Holds(self.clock, lambda: self.lengths.append(len(self.holds)))

    def test_one_for_each(self) -> None:
        """Adding a holder again changes nothing, and one removal ends its hold."""
        self.holds.add("a")
        self.holds.add("a")
        self.assertEqual(len(self.holds), 1)
        self.assertTrue(self.holds.remove("a"))
        self.assertFalse(self.holds.remove("a"))
        self.assertFalse(self.holds)

    def test_five_minutes(self) -> None:
        """A hold that nobody inherits lasts that long, and then is reported."""
        self.holds.add("a")
        self.holds.leave("a")
        self.clock.advance(299.9)
        self.assertEqual((len(self.holds), self.lengths), (1, []))
        self.clock.advance(0.1)
        self.assertEqual((len(self.holds), self.lengths), (0, [0]))
        self.holds.inherit("b")
        self.assertFalse(self.holds)

    def test_leaving_without_a_hold(self) -> None:
        """Nothing is left for anybody."""
        self.holds.leave("a")
        self.assertFalse(self.holds)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_inherited(self) -> None:
        """The next holder has it as if it were its own, and it no longer expires."""
        self.holds.add("a")
        self.holds.leave("a")
        self.holds.inherit("b")
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertFalse(self.holds.remove("a"))
        self.assertTrue(self.holds.remove("b"))
        self.assertFalse(self.holds)

    def test_each_inherits_one(self) -> None:
        """Of several, the one left last; the other waits for the next holder."""
        for name, seconds in (("a", 100), ("b", 100)):
            self.holds.add(name)
            self.holds.leave(name)
            self.clock.advance(seconds)
        self.holds.inherit("b2")
        self.clock.advance(99)
        self.assertEqual(len(self.holds), 2)
        self.clock.advance(1)
        self.assertEqual(self.lengths, [1])
        self.assertTrue(self.holds.remove("b2"))

    def test_attack_reconnecting_for_ever(self) -> None:
        """A page that reloads again and again has one hold, and leaves one."""
        self.holds.add(0)
        for number in range(100):
            self.holds.leave(number)
            self.holds.inherit(number + 1)
            self.holds.add(number + 1)
            self.assertEqual(len(self.holds), 1)
        self.holds.leave(100)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_who_holds_inherits_nothing(self) -> None:
        """A hold that was left stays for one that has none."""
        for name in ("a", "b"):
            self.holds.add(name)
        self.holds.leave("a")
        self.holds.inherit("b")
        self.assertEqual(len(self.holds), 2)
        self.holds.inherit("c")
        self.assertTrue(self.holds.remove("c"))

    def test_clear(self) -> None:
        """Nothing is held, and nothing expires."""
        for name in ("a", "b"):
            self.holds.add(name)
        self.holds.leave("a")
        self.holds.clear()
        self.assertFalse(self.holds)
        self.assertEqual(self.clock.getDelayedCalls(), [])
