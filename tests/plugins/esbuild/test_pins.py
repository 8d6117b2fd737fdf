"""The table of pinned bundlers."""

from __future__ import annotations

import base64
import hashlib

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.pins import PINS, Pin, pin_for

from ...npm import esbuild


class PinTests(SynchronousTestCase):
    """What is pinned, and for which system."""

    def pin(self, *system: str) -> Pin:
        """The pin of a system that has one."""
        pin = pin_for(*system)
        self.assertIsNotNone(pin)
        assert pin is not None
        return pin

    def test_digests_have_the_form_of_digests(self):
        """Every pin holds a SHA-512 and a SHA-256, and no two are the same."""
        for pin in PINS:
            self.assertEqual(len(base64.b64decode(pin.tarball, validate=True)), 64)
            self.assertEqual(len(bytes.fromhex(pin.binary)), 32)
            self.assertEqual(pin.binary, pin.binary.lower())
        self.assertEqual(len({pin.binary for pin in PINS}), len(PINS))
        self.assertEqual(len({pin.tarball for pin in PINS}), len(PINS))

    def test_systems(self):
        """Each system gets its own bundler, under the names Python knows it by."""
        for system, machine, wanted in (
            ("Linux", "x86_64", "linux-x64"),
            ("Linux", "aarch64", "linux-arm64"),
            ("Linux", "armv7l", "linux-arm"),
            ("Darwin", "arm64", "darwin-arm64"),
            ("Windows", "AMD64", "win32-x64"),
        ):
            pin = self.pin(system, machine)
            self.assertEqual(pin.platform, wanted)
        self.assertIsNone(pin_for("Plan9", "x86_64"))
        self.assertIsNone(pin_for("Linux", "vax"))

    def test_where_the_binary_is(self):
        """Windows packages have it elsewhere."""
        self.assertEqual(self.pin("Linux", "x86_64").member, "package/bin/esbuild")
        self.assertEqual(self.pin("Windows", "AMD64").member, "package/esbuild.exe")

    def test_this_system(self):
        """The pin of this machine is the binary that npm installs here."""
        self.assertEqual(
            hashlib.sha256(esbuild().read_bytes()).hexdigest(), self.pin().binary
        )
