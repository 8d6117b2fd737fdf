from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.osc.leases import PortLeases


class HoldsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.lengths: list[int] = []
        self.leases = PortLeases(
            self.clock, lambda: self.lengths.append(len(self.leases))
        )

    def test_leaving_without_a_hold(self) -> None:
        """Nothing is left for anybody."""
        self.leases.release_later("a")
        self.assertFalse(self.leases)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_each_adopts_one(self) -> None:
        """Of several, the one left last; the other waits for the next holder."""
        for name, seconds in (("a", 100), ("b", 100)):
            self.leases.add(name)
            self.leases.release_later(name)
            self.clock.advance(seconds)
        self.leases.adopt("b2")
        self.clock.advance(99)
        self.assertEqual(len(self.leases), 2)
        self.clock.advance(1)
        self.assertEqual(self.lengths, [1])
        self.assertTrue(self.leases.remove("b2"))

    def test_attack_reconnecting_for_ever(self) -> None:
        """A page that reloads again and again has one lease, and leaves one."""
        self.leases.add(0)
        for number in range(100):
            self.leases.release_later(number)
            self.leases.adopt(number + 1)
            self.leases.add(number + 1)
            self.assertEqual(len(self.leases), 1)
        self.leases.release_later(100)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_who_holds_adopts_nothing(self) -> None:
        """A lease that was left stays for one that has none."""
        for name in ("a", "b"):
            self.leases.add(name)
        self.leases.release_later("a")
        self.leases.adopt("b")
        self.assertEqual(len(self.leases), 2)
        self.leases.adopt("c")
        self.assertTrue(self.leases.remove("c"))
