"""Tests for bridge.rpc.caller."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.rpc.caller import PROGRAM


class ProgramTests(SynchronousTestCase):
    """Tests for the caller by HTTP."""

    def test_receives_nothing_and_never_ends(self) -> None:
        """It has no socket that could be pushed to or close."""
        ends: list[None] = []
        PROGRAM.notify("osc", {})
        PROGRAM.on_close(lambda _: ends.append(None))
        self.assertEqual(ends, [])
