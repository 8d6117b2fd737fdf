"""The table of pinned bundlers."""

import base64

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.pins import PINS, Pin, pin_for


class PinTests(SynchronousTestCase):
    def test_digests_have_the_form_of_digests(self) -> None:
        """Every pin holds a SHA-512 and a SHA-256, and no two are the same."""
        for pin in PINS:
            self.assertEqual(len(base64.b64decode(pin.tarball, validate=True)), 64)
            self.assertEqual(len(bytes.fromhex(pin.binary)), 32)
            self.assertEqual(pin.binary, pin.binary.lower())
        self.assertEqual(len({pin.binary for pin in PINS}), len(PINS))
        self.assertEqual(len({pin.tarball for pin in PINS}), len(PINS))

    def test_systems(self) -> None:
        """Each system gets its own bundler, under the names Python knows it by."""
        for system, machine, platform, member in (
            ("Linux", "x86_64", "linux-x64", "bin/esbuild"),
            ("Linux", "aarch64", "linux-arm64", "bin/esbuild"),
            ("Linux", "armv7l", "linux-arm", "bin/esbuild"),
            ("Darwin", "arm64", "darwin-arm64", "bin/esbuild"),
            ("Windows", "AMD64", "win32-x64", "esbuild.exe"),
            ("Plan9", "x86_64", "", ""),
            ("Linux", "vax", "", ""),
        ):
            pin = pin_for(system, machine) or Pin("", "", "")
            self.assertEqual(pin.platform, platform)
            if platform:
                self.assertEqual(pin.member, f"package/{member}")
                self.assertEqual(pin.name, f"@esbuild/{platform}")
