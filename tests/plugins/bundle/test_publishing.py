"""What a build writes; what is published is in ``test_build``."""

import json
import os
from hashlib import sha256
from itertools import product
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir.ownership import NotOwnError
from bridge.plugins.bundle import publishing

from ...directories import fresh_directory, open_all_above
from ...disk import going_wrong
from .workshop import Workshop


def described(version: str, script: bytes, source_map: bytes, *plugins: str):
    """Describe a bundle as the daemon does."""
    return {
        "version": version,
        "sha256": sha256(script).hexdigest(),
        "mapSha256": sha256(source_map).hexdigest(),
        "plugins": plugins,
    }


class StagingTests(SynchronousTestCase):
    def setUp(self):
        self.shop = Workshop(fresh_directory(self))
        self.shop.data.create()
        self.staging = publishing.Staging(
            self.shop.folder, self.shop.data.build / "lock"
        )
        self.addCleanup(self.staging.release)

    def publish(self, script: bytes) -> None:
        """Publish a bundle with its map and description."""
        source_map = b"map of " + script
        info = json.dumps(described("1.0.0", script, source_map)).encode()
        files = {self.shop.bundle.name: script, self.shop.map.name: source_map}
        self.staging.publish({**files, "info.json": info})

    def test_private(self):
        """It is made in a directory of nobody else's; what is published is not open."""
        self.assertTrue(self.staging.claim())
        seen: list[int] = []
        real = os.replace

        def replace(source, to):
            seen.append(source.parent.stat().st_mode & 0o777)
            real(source, to)

        self.addCleanup(os.umask, os.umask(0))
        with mock.patch("os.replace", replace):
            self.publish(b"1")
        self.assertEqual(seen, [0o700] * 3)
        modes = {path.stat().st_mode & 0o777 for path in self.shop.folder.iterdir()}
        self.assertEqual(modes, {0o644})

    def test_durable(self):
        """The names are on the disk when it is published, as the files were."""
        self.assertTrue(self.staging.claim())
        with going_wrong(None) as watched:
            self.publish(b"1")
        last = watched.calls.index(("replace", "info.json"))
        self.assertEqual(watched.calls[last + 1][0], "fsync")

    def test_attack_open_folder(self):
        """Nothing is published where others could put something else in its place."""
        folder = self.shop.folder
        folder.mkdir(parents=True)
        for opened in (folder, folder.parent):
            for mode in (0o777, 0o757):
                opened.chmod(mode)
                error = self.assertRaises(NotOwnError, self.staging.claim)
                self.assertIn(f"run: chmod -R go-w {opened}", str(error))
            opened.chmod(0o755)
        self.shop.root.chmod(0o777)
        open_all_above(self, self.shop.root)
        error = self.assertRaises(NotOwnError, self.staging.claim)
        self.assertIn("choose another with --theme-dir", str(error))

    def test_killed_between_renames(self):
        """Wherever a build was killed, it is seen that its files are not all there."""

        def belongs() -> bool:
            sources = self.shop.data.build
            return publishing.is_current(self.shop.bundle, "1.0.0", [], sources)

        self.assertTrue(self.staging.claim())
        real = os.replace
        for first in (True, False):
            for last in range(3):
                done: list[object] = []

                def replace(source, to, last=last, done=done):
                    if len(done) == last:
                        raise KeyboardInterrupt
                    real(source, to)
                    done.append(to)

                with mock.patch("os.replace", replace):
                    self.assertRaises(KeyboardInterrupt, self.publish, b"%d" % first)
                self.assertEqual(belongs(), last == 0 and not first)
                if not first:
                    self.publish(b"before")
                    self.assertTrue(belongs())
            self.publish(b"before")
        self.shop.bundle.unlink()
        self.assertFalse(belongs())

    def test_no_data_directory(self):
        """Where it is gone, no build makes it again, nor where it publishes."""
        self.shop.data.build.rmdir()
        self.assertRaises(FileNotFoundError, self.staging.claim)
        self.assertFalse(self.shop.folder.exists())

    def test_renames_that_fail(self):
        """Whichever does, the previous bundle stays, or none; without links, a copy."""
        self.assertTrue(self.staging.claim())
        real, none = os.replace, mock.Mock(side_effect=PermissionError)
        names = (self.shop.bundle.name, self.shop.map.name, "info.json")
        for has_previous, link, name in product((False, True), (os.link, none), names):
            if has_previous:
                self.publish(b"before")
            before = self.shop.published()

            def replace(source, to, name=name):
                if source.name == name:
                    raise OSError
                real(source, to)

            with mock.patch("os.link", link), mock.patch("os.replace", replace):
                self.assertRaises(OSError, self.publish, b"after")
            self.assertEqual(self.shop.published(), before)

    def test_replace_file(self):
        """What a kill, or anybody else, has left in its way goes; the same stays."""
        place, target = self.shop.root / "table.ts", self.shop.root / "target"
        target.write_text("precious")
        place.with_name("table.ts.tmp").symlink_to(target)
        publishing.replace_file(place, b"1")
        temporary = place.with_name("table.ts.tmp")
        temporary.write_text("half")
        with mock.patch("os.replace", side_effect=OSError):
            publishing.replace_file(place, b"1")
            self.assertFalse(temporary.exists())
            self.assertRaises(OSError, publishing.replace_file, place, b"2")
        self.assertFalse(temporary.exists())
        self.assertEqual((place.read_text(), target.read_text()), ("1", "precious"))

    def test_sweep(self):
        """What killed builds left is removed; what is published stays."""
        publishing.sweep(self.shop.folder)  # there is none yet
        (self.shop.folder / ".build-1" / "x").mkdir(parents=True)
        (self.shop.folder / ".build-2").write_text("x")
        self.shop.bundle.write_text("published")
        publishing.sweep(self.shop.folder)
        self.assertEqual(list(self.shop.published()), [self.shop.bundle.name])
        (self.shop.folder / ".build-3").mkdir()
        self.assertTrue(self.staging.claim())
        self.assertEqual(list(self.shop.published()), [self.shop.bundle.name])
        # What a build under way works in stays.
        directory = self.shop.folder / ".build-4"
        directory.mkdir()
        publishing.sweep(self.shop.folder)
        self.assertTrue(directory.is_dir())


class CurrentTests(SynchronousTestCase):
    def test_current(self):
        """A whole one is, that this version has built of installed plugins alone."""
        sources = fresh_directory(self)
        bundle = fresh_directory(self) / "host.js"
        info = bundle.with_name(publishing.INFO_FILE)
        self.assertFalse(publishing.is_current(bundle, "2", [], sources))
        bundle.write_bytes(b"code")
        source_map = bundle.with_name("host.js.map")
        source_map.write_bytes(b"map")
        good = described("2", b"code", b"map", "first")
        for found, current in (
            (good, True),
            ({**good, "dev": ["first"]}, False),
            ({**good, "version": "1"}, False),
            ({**good, "plugins": ["first", "uninstalled"]}, False),
            ({**good, "plugins": None}, False),
            # Of the next, which was not published; perhaps only comments have changed.
            (described("2", b"next", b"map", "first"), False),
            (described("2", b"code", b"next", "first"), False),
            ({"version": "2"}, False),
            ([], False),
        ):
            info.write_text(json.dumps(found))
            result = publishing.is_current(bundle, "2", ["first"], sources)
            self.assertEqual(result, current, found)
        info.write_text(json.dumps(good))
        os.utime(sources, (0, info.stat().st_mtime + 1))
        self.assertFalse(publishing.is_current(bundle, "2", ["first"], sources))
        os.utime(sources, (0, 0))
        source_map.unlink()
        self.assertFalse(publishing.is_current(bundle, "2", ["first"], sources))
        info.write_text("not JSON")
        self.assertFalse(publishing.is_current(bundle, "2", ["first"], sources))


class TableTests(SynchronousTestCase):
    def test_attack_code_as_an_id(self):
        """Nothing but an id becomes code, even if somebody forgot to check."""
        table = publishing.Table
        evil = ("a';evil();'", "../x", "A1", "a", "", "aa\n", "ä1", "con")
        for name in (*evil, *(f".tmp-dev-{name}" for name in evil), ".tmp-aa"):
            texts = {name: publishing.Text(b"", 0)}
            for write in (table.of_modules, lambda names: table.of_texts(names, b"")):
                error = self.assertRaises(ValueError, write, texts)
                self.assertEqual(str(error), "not a plugin id", name)
