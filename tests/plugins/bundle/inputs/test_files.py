"""Tests of ``bridge.plugins.bundle.inputs.files``."""

from __future__ import annotations

import os
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.inputs import files as inputfiles
from bridge.plugins.bundle.inputs.files import Contents, check_files
from bridge.plugins.bundle.inputs.metafile import BuildError
from bridge.plugins.tree.files import TooLargeError

from ....directories import fresh_directory, planted

ENTRY = "plugins/aa/src/main.ts"


class CheckFilesTests(SynchronousTestCase):
    """Files of a bundle, and the way to them."""

    def setUp(self) -> None:
        """Make a data directory with one file."""
        self.root = fresh_directory(self).resolve()
        self.file = self.root / ENTRY
        self.file.parent.mkdir(parents=True)
        self.file.write_text("")

    def refusal(self, *inputs: str) -> str:
        """Why these may not be in a bundle."""
        with self.assertRaises(BuildError) as caught:
            check_files(str(self.root), inputs or (ENTRY,))
        return str(caught.exception)

    def test_files(self) -> None:
        """Files that are what they look like pass, and so does one that is gone."""
        check_files(str(self.root), [ENTRY, "host/gone.ts"])

    def test_attack_links_on_the_way(self) -> None:
        """A link is found in every part of a path."""
        for part in (self.file, self.file.parent, self.file.parent.parent):
            elsewhere = self.root / "elsewhere"
            part.rename(elsewhere)
            part.symlink_to(elsewhere)
            self.assertEqual(
                self.refusal(), f"{ENTRY} is reached through a symbolic link"
            )
            part.unlink()
            elsewhere.rename(part)
        check_files(str(self.root), [ENTRY])

    def test_attack_other_spellings_of_a_path(self) -> None:
        """A path that only means another one is no real path."""
        for path in (
            "plugins/aa/src/../src/main.ts",
            "plugins/aa/./src/main.ts",
            "plugins/aa//src/main.ts",
            "plugins/aa/src/.",
            "plugins/aa/src/",
        ):
            self.assertIn("through a symbolic link", self.refusal(path), path)

    def test_attack_letters_case(self) -> None:
        """On a system that is lenient about names, the listing decides."""
        self.file.rename(self.file.with_name("main.TS"))
        self.assertEqual(self.refusal(), f"{ENTRY} is spelled differently on the disk")

    def test_attack_writable_by_others(self) -> None:
        """A file, its directories and their packages count."""
        (self.file.parent / "package.json").write_text("{}")
        for place in (
            self.file,
            self.file.parent,
            self.file.parent / "package.json",
            self.root / "plugins",
        ):
            mode = place.stat().st_mode
            place.chmod(mode | 0o002)
            self.assertIn(f"{place} can be written by other users", self.refusal())
            self.assertIn(f"chmod -R go-w {self.root}/plugins/aa", self.refusal())
            place.chmod(mode)
        planted(self, self.file)
        self.assertIn(f"{self.file} belongs to another user", self.refusal())

    def test_attack_links_of_windows(self) -> None:
        """Where files have no owners, a path's real one decides."""
        with mock.patch.object(inputfiles, "has_owners", lambda: False):
            check_files(str(self.root), [ENTRY])
            self.file.rename(self.root / "elsewhere")
            self.file.symlink_to(self.root / "elsewhere")
            self.assertIn("through a symbolic link", self.refusal())

    def test_each_is_looked_at_once(self) -> None:
        """Many files of one directory cost one look at each part of the way."""
        names = [f"{n}.ts" for n in range(9)]
        for name in names:
            (self.file.parent / name).write_text("")
        looked: list[str] = []
        real = os.lstat

        def lstat(path: str) -> os.stat_result:
            looked.append(path)
            return real(path)

        with mock.patch.object(os, "lstat", lstat):
            check_files(str(self.root), [f"plugins/aa/src/{name}" for name in names])
        self.assertEqual(len(looked), len(set(looked)))


class ContentsTests(SynchronousTestCase):
    """Files that are read while a bundle is checked."""

    def setUp(self) -> None:
        """Make a directory, and count what is opened."""
        self.root = fresh_directory(self)
        self.contents = Contents(str(self.root))
        self.opened: list[str] = []
        real = inputfiles.read_bounded

        def read(path: str, most: int) -> bytes:
            self.opened.append(os.path.relpath(path, self.root))
            return real(path, most)

        self.patch(inputfiles, "read_bounded", read)

    def test_small(self) -> None:
        """A small file is opened once, and stays what it was."""
        (self.root / "x").mkdir()
        (self.root / "x" / "a").write_bytes(b"1")
        self.assertEqual(self.contents.read("x/a"), b"1")
        (self.root / "x" / "a").write_bytes(b"2")
        self.assertEqual(self.contents.read("x/a"), b"1")
        self.assertEqual(self.opened, ["x/a"])

    def test_attack_memory(self) -> None:
        """Large files are not kept, nor any number of small ones."""
        (self.root / "large").write_bytes(bytes(16 * 1024 + 1))
        (self.root / "small").write_bytes(bytes(16 * 1024))
        for _ in range(2):
            self.contents.read("large")
        self.assertEqual(self.opened, ["large"] * 2)
        for n in range(65):
            os.replace(self.root / "small", self.root / f"{n}")
            self.contents.read(f"{n}")
            os.replace(self.root / f"{n}", self.root / "small")
        self.opened.clear()
        self.assertEqual(self.contents.read("63"), bytes(16 * 1024))
        self.assertEqual(self.opened, [])
        self.assertRaises(FileNotFoundError, self.contents.read, "64")

    def test_refused(self) -> None:
        """A link is no file of a bundle, and one can be too large."""
        (self.root / "link").symlink_to("nowhere")
        error = self.assertRaises(BuildError, self.contents.read, "link")
        self.assertEqual(str(error), "link is not a regular file")
        (self.root / "a").write_bytes(b"12")
        with mock.patch.object(inputfiles, "BUILD_BUNDLE_BYTES", 1):
            self.assertRaises(TooLargeError, self.contents.read, "a")
