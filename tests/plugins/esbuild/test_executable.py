"""Verified copies of the bundler, and the table of those that are pinned."""

import base64
import errno
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild import executable
from bridge.plugins.esbuild.executable import PINS, Pin, pin_for
from bridge.protocol.limits import BUNDLER_BYTES
from bridge.system.files import create_in_memory

from ...directories import fresh_directory, open_files

SCRIPT = b"#!/bin/sh\necho it runs\n"


none = mock.Mock(side_effect=OSError(errno.ENOTSUP, ""))
"""Stands for a system without files in memory."""


def full() -> int:
    """Make a file for which there is no room."""
    return os.open("/dev/full", os.O_WRONLY)


class ExecutableCase(SynchronousTestCase):
    def setUp(self):
        root = fresh_directory(self)
        self.source, self.private = root / "bin", root / "private"
        self.source.mkdir()
        self.private.mkdir()
        self.patch(tempfile, "tempdir", str(self.private))
        self.install(SCRIPT)

    def install(self, content: bytes) -> None:
        """Put a bundler in place, with its checksum."""
        (self.source / "esbuild").write_bytes(content)
        self.checksum(hashlib.sha256(content).hexdigest() + "\n")

    def checksum(self, text: str) -> None:
        (self.source / "esbuild.sha256").write_text(text)

    def copy(self, make=create_in_memory) -> executable.Executable:
        with mock.patch.object(executable, "create_in_memory", make):
            return executable.HeldCopy("mend it").get(self.source)

    def refused(self, make=create_in_memory) -> str:
        """Copy, expect a refusal that leaves nothing while it is held; its words."""
        before = open_files()
        error = self.assertRaises(executable.BundlerError, self.copy, make)
        self.assertEqual(open_files(), before)
        self.assertEqual(os.listdir(self.private), [])
        return str(error)


class CopyTests(ExecutableCase):
    def test_with_a_name(self):
        """Without such files the copy is private, read-only, and runs."""
        before = open_files()
        for make in (none, full):
            copy = self.copy(make)
            directory = Path(copy.path).parent
            self.assertEqual(directory.parent, self.private)
            self.assertEqual(directory.stat().st_mode & 0o777, 0o700)
            self.assertEqual(os.stat(copy.path).st_mode & 0o777, 0o500)
            self.assertEqual(subprocess.check_output([copy.path]), b"it runs\n")
            del copy
            self.assertFalse(directory.exists())
        self.assertEqual(open_files(), before)

    def test_attack_other_binaries(self):
        """What is not the binary of the checksum is refused, wherever it is copied."""
        place, digest = (self.source / f"esbuild{end}" for end in ("", ".sha256"))

        def link() -> None:
            place.rename(self.source / "real")
            place.symlink_to("real")

        def pipe() -> None:
            place.unlink()
            os.mkfifo(place)

        for change, words in (
            (place.unlink, "bundler missing: there is no bin/esbuild; mend it"),
            (digest.unlink, "bundler missing: there is no bin/esbuild.sha256; mend it"),
            (lambda: place.write_bytes(b"evil"), "esbuild checksum mismatch: bin/esb"),
            (
                lambda: os.truncate(place, BUNDLER_BYTES + 1),
                f"bin/esbuild is over {BUNDLER_BYTES} bytes",
            ),
            (link, "bin/esbuild is not a regular file"),
            (pipe, "bin/esbuild is not a regular file"),
        ):
            place.unlink(missing_ok=True)
            self.install(SCRIPT)
            change()
            for make in (create_in_memory, none):
                self.assertEqual(self.refused(make)[: len(words)], words)


class ChecksumTests(ExecutableCase):
    def test_forms(self):
        """The first word counts, in either case."""
        digest = hashlib.sha256(SCRIPT).hexdigest()
        for text in (digest, f"\n {digest.upper()}  esbuild\n", f"{digest} x y"):
            self.checksum(text)
            self.assertEqual(executable.read_checksum(self.source), digest)

    def test_unusable(self):
        """Anything else is refused, and a large file is not read."""
        large = "a" * 64 + " " * 5000
        for text in ("", "\n", "a" * 63, "g" * 64, "a" * 65, "x " + "a" * 64, large):
            self.checksum(text)
            self.assertIn("does not hold a SHA-256 digest", self.refused(), text[:70])


class HeldCopyTests(ExecutableCase):
    def setUp(self):
        super().setUp()
        self.made = 0
        self.held = executable.HeldCopy("mend it")
        self.patch(executable, "create_in_memory", self.create)

    def create(self) -> int:
        """Count how often the bundler is copied."""
        self.made += 1
        return create_in_memory()

    def output(self):
        """Run the copy; what it prints."""
        copy = self.held.get(self.source)
        return subprocess.run([copy.path], capture_output=True, check=True).stdout

    def test_copied_once(self):
        """It is copied and hashed once, and runs after an earlier one was closed."""
        self.held.get(self.source)
        self.assertEqual((self.output(), self.output()), (b"it runs\n", b"it runs\n"))
        self.assertEqual(self.made, 1)

    def test_attack_tampered_later(self):
        """A held copy lets no later change of either file through."""
        self.output()
        with (self.source / "esbuild").open("ab") as file:
            file.write(b"echo evil\n")
        self.assertRaises(executable.BundlerError, self.output)
        self.install(SCRIPT)
        self.output()
        self.checksum("0" * 64)
        self.assertRaises(executable.BundlerError, self.output)


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
