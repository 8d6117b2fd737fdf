"""Tests of ``bridge.plugins.clone.objects.delta``."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.objects.delta import DeltaError, apply_delta, declared_sizes
from bridge.protocol.errors import BridgeError

from ..packs import copy, delta, insert

BASE = bytes(range(256)) * 300


class ApplyDeltaTests(SynchronousTestCase):
    """``apply_delta``."""

    def made(self, size: int, *steps: bytes) -> bytes:
        """What a delta to ``BASE`` makes."""
        return apply_delta(BASE, delta(len(BASE), size, *steps), 1000)[0]

    def broken(self, raw: bytes) -> None:
        """A delta is refused."""
        self.assertRaises(DeltaError, apply_delta, BASE, raw, 1000)

    def test_copies_and_insertions(self) -> None:
        """A result is the copies and insertions in their order."""
        made = self.made(303, copy(1, 200), insert(b"new"), copy(70000, 100))
        self.assertEqual(made, BASE[1:201] + b"new" + BASE[70000:70100])

    def test_short_forms(self) -> None:
        """Bytes of a copy that are left out are zero; no length means 64 KiB."""
        self.assertEqual(self.made(0x10000, b"\x80"), BASE[:0x10000])
        self.assertEqual(self.made(2, b"\x92\x01\x02"), BASE[256:258])

    def test_empty(self) -> None:
        """A delta may make nothing."""
        self.assertEqual(self.made(0), b"")

    def test_declared_sizes(self) -> None:
        """The sizes are read without applying anything."""
        self.assertEqual(declared_sizes(delta(300, 1 << 40)), (300, 1 << 40))

    def test_other_base(self) -> None:
        """A delta to a base of another length is refused."""
        self.broken(delta(len(BASE) + 1, 3, insert(b"new")))

    def test_more_than_declared(self) -> None:
        """A delta that makes more than it declares is stopped at the next byte."""
        self.broken(delta(len(BASE), 10, *[copy(0, 60000)] * 900))

    def test_less_than_declared(self) -> None:
        """A delta that makes less than it declares is refused."""
        self.broken(delta(len(BASE), 4, insert(b"new")))

    def test_outside_the_base(self) -> None:
        """A copy from outside the base is refused."""
        self.broken(delta(len(BASE), 10, copy(len(BASE) - 5, 10)))
        self.broken(delta(len(BASE), 10, copy(0xFFFFFFFF, 10)))

    def test_reserved_step(self) -> None:
        """The step git keeps for later is refused."""
        self.broken(delta(len(BASE), 0, b"\0"))

    def test_cut_off(self) -> None:
        """A delta that ends in the middle is refused."""
        self.broken(delta(len(BASE), 3, insert(b"new")[:2]))
        self.broken(delta(len(BASE), 3, copy(0, 3)[:4]))
        self.broken(b"")
        self.broken(b"\x80" * 20)

    def test_too_many_steps(self) -> None:
        """A delta of very many tiny steps is given up."""
        raw = delta(len(BASE), 1001, *[insert(b"x")] * 1001)
        error = self.assertRaises(BridgeError, apply_delta, BASE, raw, 1000)
        self.assertIn("takes too long to unpack", error.message)

    @settings(deadline=None)
    @given(st.binary(max_size=60))
    def test_any_bytes(self, steps: bytes) -> None:
        """Any bytes make what they declare, or are refused."""
        raw = delta(len(BASE), 5) + steps
        try:
            made, count = apply_delta(BASE, raw, 50)
        except (DeltaError, BridgeError):
            return
        self.assertEqual(len(made), 5)
        self.assertLessEqual(count, 5)
