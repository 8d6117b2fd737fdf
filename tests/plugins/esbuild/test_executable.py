"""Verified copies of the bundler."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild import executable
from bridge.plugins.esbuild.executable import (
    BundlerError,
    Executable,
    HeldCopy,
    read_checksum,
)
from bridge.protocol.limits import BUNDLER_BYTES
from bridge.system.nameless import create

from ...directories import fresh_directory

SCRIPT = b"#!/bin/sh\necho it runs\n"


def none() -> int:
    """Stand for a system without files in memory."""
    raise OSError(errno.ENOTSUP, "")


def full() -> int:
    """Make a file for which there is no room."""
    return os.open("/dev/full", os.O_WRONLY)


WHERE = (create, none)
"""How a file in memory is made."""


class ExecutableCase(SynchronousTestCase):
    """A directory with a bundler, and one for copies."""

    def setUp(self):
        """Make them."""
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
        """Write the checksum file."""
        (self.source / "esbuild.sha256").write_text(text)

    def copy(self, make=create) -> Executable:
        """Copy the bundler, and hold nothing."""
        with mock.patch.object(executable, "create", make):
            return HeldCopy().get(self.source)

    def refused(self, make=create) -> str:
        """Copy, expect a refusal, and give its words."""
        before = os.listdir("/proc/self/fd")
        with self.assertRaises(BundlerError) as caught:
            self.copy(make)
        words = str(caught.exception)
        del caught
        self.assertEqual(os.listdir("/proc/self/fd"), before)
        self.assertEqual(os.listdir(self.private), [])
        return words


class CopyTests(ExecutableCase):
    """What is copied, where, and what is refused."""

    def test_in_memory(self):
        """A copy in memory runs, and no other file is made."""
        before = os.listdir("/proc/self/fd")
        copy = self.copy()
        self.assertEqual(subprocess.check_output([copy.path]), b"it runs\n")
        self.assertEqual(list(self.private.iterdir()), [])
        self.assertEqual(len(list(self.source.iterdir())), 2)
        del copy
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_with_a_name(self):
        """Without such files the copy is private, read-only, and runs."""
        before = os.listdir("/proc/self/fd")
        for make in (none, full):
            copy = self.copy(make)
            directory = Path(copy.path).parent
            self.assertEqual(directory.parent, self.private)
            self.assertEqual(directory.stat().st_mode & 0o777, 0o700)
            self.assertEqual(os.stat(copy.path).st_mode & 0o777, 0o500)
            self.assertEqual(subprocess.check_output([copy.path]), b"it runs\n")
            del copy
            self.assertFalse(directory.exists())
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_attack_tampered(self):
        """Another binary is refused, wherever the copy goes."""
        (self.source / "esbuild").write_bytes(SCRIPT + b"evil\n")
        for make in WHERE:
            reported = self.refused(make)
            self.assertTrue(
                reported.startswith("esbuild checksum mismatch: bin/esbuild")
            )

    def test_no_bundler(self):
        """Without a bundler the error says what brings it."""
        (self.source / "esbuild").unlink()
        self.assertEqual(
            self.refused(),
            "bundler missing: there is no bin/esbuild; run plugin-bridge setup",
        )

    def test_attack_endless_binary(self):
        """A binary over the limit is not copied to its end."""
        with (self.source / "esbuild").open("r+b") as file:
            file.truncate(BUNDLER_BYTES + 1)
        self.assertEqual(self.refused(), f"bin/esbuild is over {BUNDLER_BYTES} bytes")

    def test_attack_link_or_pipe(self):
        """A link or a pipe is not a bundler."""
        (self.source / "esbuild").rename(self.source / "real")
        (self.source / "esbuild").symlink_to("real")
        self.assertEqual(self.refused(), "bin/esbuild is not a regular file")
        (self.source / "esbuild").unlink()
        os.mkfifo(self.source / "esbuild")
        self.assertEqual(self.refused(), "bin/esbuild is not a regular file")


class ChecksumTests(ExecutableCase):
    """The checksum file."""

    def test_forms(self):
        """The first word counts, in either case."""
        digest = hashlib.sha256(SCRIPT).hexdigest()
        for text in (digest, f"\n {digest.upper()}  esbuild\n", f"{digest} x y"):
            self.checksum(text)
            self.assertEqual(read_checksum(self.source), digest)

    def test_unusable(self):
        """Anything else is refused, and a large file is not read."""
        large = "a" * 64 + " " * 5000
        for text in ("", "\n", "a" * 63, "g" * 64, "a" * 65, "x " + "a" * 64, large):
            with self.subTest(text=text[:70]):
                self.checksum(text)
                self.assertIn("does not hold a SHA-256 digest", self.refused())


class HeldCopyTests(ExecutableCase):
    """Tests for ``HeldCopy``."""

    def setUp(self):
        """Hold a copy."""
        super().setUp()
        self.made = 0
        self.held = HeldCopy()
        self.patch(executable, "create", self.create)

    def create(self) -> int:
        """Count how often the bundler is copied."""
        self.made += 1
        return create()

    def output(self):
        """Run the copy; what it prints."""
        copy = self.held.get(self.source)
        return subprocess.run([copy.path], capture_output=True, check=True).stdout

    def test_copied_once(self):
        """It is copied and hashed once, and runs after an earlier one was closed."""
        self.held.get(self.source)
        self.assertEqual((self.output(), self.output()), (b"it runs\n", b"it runs\n"))
        self.assertEqual(self.made, 1)

    def test_another_bundler(self):
        """One that was replaced or written to is copied again."""
        self.output()
        self.install(SCRIPT.replace(b"runs", b"does"))
        self.assertEqual((self.output(), self.made), (b"it does\n", 2))
        os.utime(self.source / "esbuild")
        self.assertEqual((self.output(), self.made), (b"it does\n", 3))

    def test_attack_tampered_later(self):
        """A held copy lets no later change of either file through."""
        self.output()
        with (self.source / "esbuild").open("ab") as file:
            file.write(b"echo evil\n")
        self.assertRaises(BundlerError, self.output)
        self.install(SCRIPT)
        self.output()
        self.checksum("0" * 64)
        self.assertRaises(BundlerError, self.output)
