"""The view library that ships with the reference page is the published one."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from .vendored import HERE, PREACT, copied, published


class VendoredTests(SynchronousTestCase):
    """Tests for the copy of the view library."""

    def test_attack_changed_file(self) -> None:
        """Each file has the bytes that were published; none is missing or added."""
        self.assertEqual(copied(), published())

    def test_version(self) -> None:
        """The copy's own package.json names the pinned version and its licence."""
        own = json.loads((HERE / "package.json").read_text("utf-8"))
        self.assertEqual(f"{own['name']}@{own['version']}", PREACT)
        self.assertEqual(own["license"], "MIT")
        self.assertIn("MIT License", (HERE / "LICENSE").read_text("utf-8"))
