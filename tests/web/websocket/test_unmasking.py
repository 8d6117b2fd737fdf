"""Tests for bridge.web.websocket.unmasking."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.web.websocket import unmasking
from bridge.web.websocket.unmasking import Unmask, native, translated, unmasked

from ...rawsocket import masked

MASK = b"\x37\xfa\x21\x3d"


def ways() -> list[Unmask]:
    """Every way to unmask."""
    function = native()
    assert function is not None, "install a wheel of Autobahn, which has NVX"
    return [function, translated]


class UnmaskingTests(SynchronousTestCase):
    """Tests for unmasking."""

    @given(
        st.binary(max_size=80), st.binary(min_size=4, max_size=4), st.integers(0, 2**40)
    )
    @settings(deadline=None)
    def test_by_definition(self, payload: bytes, mask: bytes, offset: int) -> None:
        """Byte i is XORed with byte i modulo 4 of the mask (RFC 6455, 5.3)."""
        expected = bytes(b ^ mask[(offset + i) % 4] for i, b in enumerate(payload))
        for unmask in ways():
            self.assertEqual(unmask(payload, mask, offset), expected)

    def test_large(self) -> None:
        """All ways agree about large pieces, too, and leave theirs as it was."""
        payload = bytes(range(256)) * 4000
        function, other = ways()
        for offset in range(4):
            for size in (len(payload), len(payload) - 1, 65_536, 65_537):
                piece = payload[:size]
                plain = function(piece, MASK, offset)
                self.assertEqual(plain, other(piece, MASK, offset))
                self.assertEqual(piece, payload[:size])

    def test_tests_own(self) -> None:
        """The tests' client masks as the daemon unmasks."""
        self.assertEqual(unmasked(masked(b"hello"), MASK, 0), b"hello")

    def test_the_native_one_is_used(self) -> None:
        """With Autobahn's wheel the function in C unmasks."""
        self.assertIsNot(unmasked, translated)

    def test_without_the_native_one(self) -> None:
        """Where it is missing, or is another, there is none."""

        def missing(name: str) -> object:
            raise ImportError(name)

        self.patch(unmasking, "import_module", missing)
        self.assertIsNone(native())
        self.patch(unmasking, "import_module", lambda name: object())
        self.assertIsNone(native())

    def test_attack_large_pieces_without_the_native_one(self) -> None:
        """The slower way keeps others waiting no longer than a moment, too."""
        begun = time.process_time()
        translated(bytes(1 << 20), MASK, 1)
        self.assertLess(time.process_time() - begun, 0.1)
