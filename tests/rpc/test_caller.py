"""Tests for bridge.rpc.caller."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.rpc.caller import HTTP_CALLER


class ProgramTests(SynchronousTestCase):
    def test_receives_nothing_and_never_ends(self) -> None:
        """It has no socket that could be pushed to or close."""
        ends: list[None] = []
        HTTP_CALLER.notify("osc", {})
        HTTP_CALLER.on_close(lambda _: ends.append(None))
        self.assertEqual(ends, [])
        self.successResultOf(HTTP_CALLER.drained())
