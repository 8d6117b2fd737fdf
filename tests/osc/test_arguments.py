"""Tests for bridge.osc.arguments; see also those of osc/send."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.osc.arguments import read_argument
from bridge.osc.packets import Argument, Kind


class ReadArgumentTests(SynchronousTestCase):
    def test_kinds(self) -> None:
        """A bare value has the kind it fits, an explicit kind is kept."""
        for given_, kind, value in (
            (True, Kind.BOOL, True),
            (2**31 - 1, Kind.INT, 2**31 - 1),
            (2**31, Kind.FLOAT, 2.0**31),
            (1.0, Kind.FLOAT, 1.0),
            ("", Kind.STRING, ""),
            ({"kind": "float", "value": 1}, Kind.FLOAT, 1.0),
        ):
            read = read_argument(given_)
            self.assertEqual(read, Argument(kind, value))
            self.assertIs(type(read.value), type(value))
