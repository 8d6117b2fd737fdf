"""
A file and the generation before it.

That a kill at any call leaves one of them whole is in ``plugins.operations.crashes``.
"""

import errno
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.store import generations
from bridge.store.generations import Generations, NotDurableError, StoreError

from ..directories import fresh_directory
from ..disk import ALL, full, going_wrong

FIRST, SECOND, THIRD, REFUSED = (b'{"a":{"k":%d}}' % n for n in range(4))


class GenerationsCase(SynchronousTestCase):
    """A directory with a file of two generations."""

    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        self.file = Generations(self.directory / "kept")
        self.file.replace([FIRST[:5], FIRST[5:]])
        self.file.replace([SECOND])

    def names(self) -> set[str]:
        return set(os.listdir(self.directory))


class ReplaceTests(GenerationsCase):
    def test_order(self) -> None:
        """The content is durable before it has the name, the name before the end."""
        with going_wrong(None) as watched:
            self.file.replace([THIRD])
        calls = [c for c in watched.calls if c[0] in ("fsync", "link", "replace")]
        names = [name for name, _ in calls]
        self.assertEqual(names, ["fsync", "link", "replace", "replace", "fsync"])
        self.assertEqual(calls[2:4], [("replace", "kept.bak"), ("replace", "kept")])

    def test_killed_between_the_two(self) -> None:
        """When both names are of one file, nothing but the two newest is left."""
        os.unlink(self.file.previous)
        os.link(self.file.path, self.file.previous)
        self.file.replace([THIRD])
        self.assertEqual(self.file.previous.read_bytes(), SECOND)
        self.assertEqual(self.names(), {"kept", "kept.bak"})

    def test_symlink_attack_on_the_temporary_file(self) -> None:
        """A link planted under the temporary name is removed, not written through."""
        target = self.directory / "target"
        target.write_bytes(b"untouched")
        (self.directory / "kept.tmp").symlink_to(target)
        self.file.replace([THIRD])
        self.assertEqual(target.read_bytes(), b"untouched")
        self.assertFalse(self.file.path.is_symlink())

    def test_full_disk_at_every_call(self) -> None:
        """Whichever calls fail, the file is as it was, or is known not to be."""
        # As on a file system without links.
        none = mock.Mock(side_effect=PermissionError(errno.EPERM, "not permitted"))
        for link, count in product((os.link, none), (1, ALL)):
            self.enterContext(mock.patch.object(os, "link", link))
            with going_wrong(None) as watched:
                self.file.replace([SECOND])
            for at in range(len(watched.calls)):
                what = (link, count, at)
                failing = going_wrong(full(at, count))
                with failing, self.assertRaises(OSError) as caught:
                    self.file.replace([REFUSED])
                # Then the directory is synced.
                renamed = at == len(watched.calls) - 1
                known = isinstance(caught.exception, NotDurableError)
                self.assertEqual(known, renamed, what)
                expected = REFUSED if renamed else SECOND
                self.assertEqual(self.file.path.read_bytes(), expected, what)
                if count == 1:
                    self.assertEqual(self.names(), {"kept", "kept.bak"}, what)
                self.file.replace([SECOND])

    def test_renamed_although_that_failed(self) -> None:
        """Some disks report that of a rename: then the new one is there."""
        replace = os.replace

        def late(source: Path, target: Path) -> None:
            replace(source, target)
            if target == self.file.path:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        with mock.patch.object(os, "replace", late):
            self.assertRaises(NotDurableError, self.file.replace, [THIRD])
        self.assertEqual(self.file.path.read_bytes(), THIRD)

    def test_broken_source(self) -> None:
        """When what is to be written cannot be made, nothing is left of it."""

        def pieces() -> Iterator[bytes]:
            yield b"half"
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, self.file.replace, pieces())
        self.assertEqual(self.file.path.read_bytes(), SECOND)
        self.assertEqual(self.names(), {"kept", "kept.bak"})


class LoadTests(GenerationsCase):
    def test_damaged(self) -> None:
        """A damaged file is kept aside, and the previous generation is used."""
        self.file.path.write_bytes(b"trunca")
        found, notice = self.file.load()
        self.assertEqual(found.get("a", "k"), 0)
        self.assertEqual(
            notice,
            "kept could not be read and is kept as kept.corrupt-1; "
            "kept.bak, the generation before it, is used",
        )
        aside = self.directory / "kept.corrupt-1"
        self.assertEqual(aside.read_bytes(), b"trunca")

    def test_damaged_after_a_kill_between_the_two(self) -> None:
        """Loading gives each name a file of its own, or damage would be of both."""
        os.unlink(self.file.previous)
        os.link(self.file.path, self.file.previous)
        with mock.patch.object(generations, "write_new", side_effect=OSError):
            found, notice = self.file.load()  # with a full disk, too
        self.assertEqual((found.get("a", "k"), notice), (1, None))
        self.file.load()
        self.file.path.write_bytes(b"trunca")
        found, _ = self.file.load()
        self.assertEqual(found.get("a", "k"), 1)
        self.assertEqual(self.names(), {"kept.bak", "kept.corrupt-1"})

    def test_both_damaged(self) -> None:
        """When both are damaged both are kept aside, and nothing is found."""
        self.file.path.write_bytes(b"trunca")
        self.file.previous.write_bytes(b"")
        found, notice = self.file.load()
        self.assertEqual(found.namespaces(), [])
        self.assertIn("kept.bak could not be read", notice)
        self.assertIn("starting with an empty one", notice)
        self.assertEqual(self.names(), {"kept.corrupt-1", "kept.corrupt-2"})

    def test_missing(self) -> None:
        """A missing current generation is reported, and the previous one used."""
        self.file.path.unlink()
        found, notice = self.file.load()
        self.assertEqual(found.get("a", "k"), 0)
        why = "kept is missing; kept.bak, the generation before it, is used"
        self.assertEqual(notice, why)

    def test_linked(self) -> None:
        """The file may be a link to where its user keeps it."""
        self.file.path.symlink_to(self.file.path.rename(self.directory / "elsewhere"))
        self.assertEqual(self.file.load()[0].get("a", "k"), 1)

    def test_refused_before_anything_is_touched(self) -> None:
        """A file of an unknown shape stays where it is, as does the rest."""
        self.file.path.write_bytes(b"damaged")
        for newer in (b'{"version":2,"tables":{}}', b"[]", b'{"a":{},"b":[]}'):
            self.file.previous.write_bytes(newer)
            error = self.assertRaises(StoreError, self.file.load)
            self.assertIn(f"{self.file.path}: not an object of objects", str(error))
            self.assertEqual(self.file.previous.read_bytes(), newer)
        self.assertEqual(self.names(), {"kept", "kept.bak"})

    def test_unreadable(self) -> None:
        """What can't be read now is not damaged: neither file is set aside."""
        denied = f"denied; make it yours, run: sudo chown -R $USER {self.directory}"
        for code, why in ((errno.EACCES, denied), (errno.EIO, "error; try again")):
            failing = OSError(code, os.strerror(code))
            for content in (b"trunca", SECOND):
                self.file.path.write_bytes(content)
                before = [] if content == SECOND else [self.file.path.open("rb")]
                with mock.patch.object(
                    generations, "open_regular", side_effect=[*before, failing]
                ):
                    error = self.assertRaises(StoreError, self.file.load)
                self.assertIn(f"{self.file.path} cannot be read: ", str(error))
                self.assertIn(why, str(error))
                self.assertEqual(self.names(), {"kept", "kept.bak"})

    def test_directory_or_pipe_in_its_place(self) -> None:
        """What is no regular file is set aside, and never waited for."""
        self.file.path.unlink()
        for make in (os.mkfifo, os.mkdir):
            make(self.file.path)
            self.assertEqual(self.file.load()[0].get("a", "k"), 0)
        self.assertIn("kept.corrupt-2", self.names())
