"""Where setup gets the reference page's library from, and what it takes of it."""

import json

from twisted.trial.unittest import SynchronousTestCase

from bridge import __version__
from bridge.datadir.paths import DataDir
from bridge.provision.hostsources import install_sources
from bridge.provision.library import (
    FOLDER,
    LIBRARY,
    find_library,
    installed_library,
    library_files,
    read_library,
)
from bridge.provision.npm import SetupError
from bridge.provision.setup import own_sources

from ..directories import fresh_directory
from ..npm import library


class LibraryTests(SynchronousTestCase):
    """Tests with the real package."""

    def setUp(self) -> None:
        self.root = fresh_directory(self)
        self.package = library().read_bytes()

    def test_attack_other_package(self) -> None:
        """A package of another digest is refused, from wherever, and not opened."""
        (self.root / LIBRARY.file).write_bytes(self.package[:-1] + b"x")
        for refused in (
            lambda: find_library({}, self.root),
            lambda: read_library(self.root / LIBRARY.file),
        ):
            error = self.assertRaises(SetupError, refused)
            self.assertIn("not have the digest of preact@11.2.0", str(error))

    def test_what_the_bundle_needs(self) -> None:
        """Readable sources and types, the licence, and a description of these."""
        files = library_files(self.package)
        about = json.loads(files[f"{FOLDER}package.json"])
        for entry in about["exports"].values():
            for path in entry.values():
                self.assertIn(FOLDER + path.removeprefix("./"), files)
        self.assertIn(b"MIT License", files[f"{FOLDER}LICENSE"])
        ends = {path.rpartition(".")[2] for path in files}
        self.assertEqual(ends, {"js", "ts", "json", f"{FOLDER}LICENSE"})

    def test_in_place(self) -> None:
        """The pinned version in place is found; one that was changed is not."""
        data = DataDir(self.root / "data")
        data.create()
        self.assertEqual(installed_library(data), {})
        files = library_files(self.package)
        install_sources({**own_sources(), **files}, data, __version__, force=False)
        self.assertEqual(installed_library(data), files)
        (data.host / FOLDER / "src/index.js").write_text("mine")
        self.assertEqual(installed_library(data), {})
