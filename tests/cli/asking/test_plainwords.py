"""Refusals in plain words."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.asking.plainwords import plain, prefix_of
from bridge.protocol.errors import BridgeError, Code, Prefix, plugin_error


class PlainTests(SynchronousTestCase):
    """Tests for ``plain``."""

    def test_every_prefix(self):
        """Each has its meaning before the detail, and no code."""
        for prefix in Prefix:
            error = plugin_error(prefix, "the detail")
            self.assertIs(prefix_of(error), prefix)
            line = plain(error)
            meaning = "" if prefix is Prefix.NOT_HTTPS else f"{prefix.meaning}: "
            self.assertTrue(line.startswith(f"{meaning}the detail"), line)
            self.assertFalse(line.startswith(f"{prefix}: "), line)

    def test_others(self):
        """Without a prefix the message stands alone; a full daemon is asked again."""
        error = BridgeError(Code.UNAVAILABLE, "too many operations: wait")
        self.assertEqual(plain(error), "too many operations: wait")
        limited = BridgeError(Code.RATE_LIMITED, "too many requests")
        self.assertIn("try again", plain(limited))

    def test_attack_escapes(self):
        """What could control the terminal is removed."""
        error = plugin_error(Prefix.POLICY, "main.ts\x1b]0;x\x07")
        self.assertTrue(plain(error).isprintable())
