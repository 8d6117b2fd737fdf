"""Sources made to keep the daemon busy: none keeps other threads waiting for long."""

from __future__ import annotations

import functools

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.scan import scan_source
from bridge.protocol.limits import KIB

from .hostile import FRAMES, UNITS, longest_hold, source

ROUNDS = 8
GENEROUS = 0.1
"""Seconds; what is aimed at, and reached on a machine at rest, is a fifth of it."""


class HoldTests(SynchronousTestCase):
    """How long a scan holds the interpreter at a time."""

    def least(self, name: str, content: bytes) -> float:
        """The longest hold of a scan, in the best of some rounds."""
        scan = functools.partial(scan_source, name, content)
        return min(longest_hold(scan) for _ in range(ROUNDS))

    def test_attack_every_unit(self) -> None:
        """Nothing that is repeated holds the interpreter."""
        for name, unit in UNITS.items():
            content = source(unit, size=48 * KIB)
            hold = longest_hold(functools.partial(scan_source, "a.ts", content))
            if hold > GENEROUS:
                hold = self.least("a.ts", content)
            self.assertLess(hold, GENEROUS, name)

    def test_attack_every_frame(self) -> None:
        """Neither does one statement without an end."""
        for frame in FRAMES:
            for name in ("semicolons", "commas", "cases"):
                content = source(UNITS[name], frame, 160 * KIB)
                hold = longest_hold(functools.partial(scan_source, "a.ts", content))
                if hold > GENEROUS:
                    hold = self.least("a.ts", content)
                self.assertLess(hold, GENEROUS, f"{frame}: {name}")

    def test_a_hold_is_seen(self) -> None:
        """One long call is told of, so the tests above can fail."""
        hold = longest_hold(functools.partial(pow, 3, 5_000_000))
        self.assertGreater(hold, GENEROUS)
