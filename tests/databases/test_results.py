"""Tests for bridge.databases.results; see also those of the reader."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.results import Meter
from bridge.protocol.errors import BridgeError


class MeterTests(SynchronousTestCase):
    def test_attack_values_that_count_for_nothing(self) -> None:
        """Each value counts, and what is over the limit by a byte is refused."""
        cases: list[tuple[Any, int]] = [
            (None, 4),
            (0, 20),
            (-(2**53), 20),
            (1.5, 20),
            (b"", 32),
            (b"x" * 31, 32 + 41),
        ]
        for value, size in cases:
            Meter(True, size).value(value)
            short = Meter(True, size - 1)
            self.assertRaises(BridgeError, short.value, value)
        Meter(False, 32).value(b"x" * 31)
        Meter(True, 5).text(b"abc")
        self.assertRaises(BridgeError, Meter(True, 4).text, b"abc")
