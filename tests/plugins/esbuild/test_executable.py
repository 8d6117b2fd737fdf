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
    read_checksum,
    verified_copy,
)
from bridge.protocol.limits import BUNDLER_BYTES

from ...directories import fresh_directory

SCRIPT = b"#!/bin/sh\necho it runs\n"


def none() -> int:
    """Stand for a system without files in memory."""
    raise OSError(errno.ENOTSUP, "")


def full() -> int:
    """Make a file for which there is no room."""
    return os.open("/dev/full", os.O_WRONLY)


WHERE = (executable.create, none)
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

    def copy(self, create=executable.create) -> Executable:
        """Copy the bundler."""
        with mock.patch.object(executable, "create", create):
            return verified_copy(self.source)

    def refused(self, create=executable.create) -> str:
        """Copy, expect a refusal, and give its words."""
        before = os.listdir("/proc/self/fd")
        with self.assertRaises(BundlerError) as caught:
            self.copy(create)
        self.assertEqual(os.listdir("/proc/self/fd"), before)
        self.assertEqual(os.listdir(self.private), [])
        return str(caught.exception)


class CopyTests(ExecutableCase):
    """What is copied, where, and what is refused."""

    def test_in_memory(self):
        """A copy in memory runs, and no other file is made."""
        before = os.listdir("/proc/self/fd")
        copy = self.copy()
        self.assertEqual(subprocess.check_output([copy.path]), b"it runs\n")
        self.assertEqual(list(self.private.iterdir()), [])
        self.assertEqual(len(list(self.source.iterdir())), 2)
        copy.close()
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_with_a_name(self):
        """Without such files the copy is private, read-only, and runs."""
        before = os.listdir("/proc/self/fd")
        for create in (none, full):
            copy = self.copy(create)
            directory = Path(copy.path).parent
            self.assertEqual(directory.parent, self.private)
            self.assertEqual(directory.stat().st_mode & 0o777, 0o700)
            self.assertEqual(os.stat(copy.path).st_mode & 0o777, 0o500)
            self.assertEqual(subprocess.check_output([copy.path]), b"it runs\n")
            copy.close()
            self.assertFalse(directory.exists())
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_attack_tampered(self):
        """Another binary is refused, wherever the copy goes."""
        (self.source / "esbuild").write_bytes(SCRIPT + b"evil\n")
        for create in WHERE:
            reported = self.refused(create)
            self.assertTrue(
                reported.startswith("esbuild checksum mismatch: bin/esbuild")
            )

    def test_attack_tampered_later(self):
        """The copy stays what was verified."""
        for create in WHERE:
            copy = self.copy(create)
            self.addCleanup(copy.close)
            (self.source / "esbuild").write_bytes(b"#!/bin/sh\necho evil\n")
            self.assertEqual(subprocess.check_output([copy.path]), b"it runs\n")
            self.install(SCRIPT)

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
