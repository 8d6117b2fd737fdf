"""What setup downloads: where it gets the bundler and the library from."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge import __version__
from bridge.datadir.paths import DataDir
from bridge.plugins.esbuild.executable import VERSION, pin_for
from bridge.protocol.limits import BUNDLER_BYTES
from bridge.provision import setup
from bridge.provision.hostsources import install_sources
from bridge.provision.npm import SetupError

from ..directories import fresh_directory
from ..npm import esbuild, library, packed


class SourceCase(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)
        pin = pin_for()
        assert pin is not None, "there is no bundler for this machine"
        self.pin = pin
        self.patch(setup, "SHIPPED", self.root)

    def package(self) -> Path:
        """What ``npm pack`` makes of the pinned bundler."""
        return packed(f"{self.pin.name}@{VERSION}")

    def refused(self, work, *args) -> str:
        """Do the work, expect a refusal, and give its words."""
        error = self.assertRaises(SetupError, work, *args)
        self.assertNotIn("\n", str(error))
        return str(error)


class ReadingTests(SourceCase):
    """A file that somebody gives."""

    def test_binary_or_package(self):
        """The binary and the npm package give the same bytes."""
        binary = setup.read_bundler(esbuild(), self.pin)
        self.assertEqual(hashlib.sha256(binary).hexdigest(), self.pin.binary)
        self.assertEqual(setup.read_bundler(self.package(), self.pin), binary)

    def test_attack_other_file(self):
        """Any other binary or package is refused; the latter isn't even opened."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            for name in (self.pin.member, "../../evil"):
                member = tarfile.TarInfo(name)
                member.size = 4
                tar.addfile(member, io.BytesIO(b"evil"))
        path = self.root / "given"
        why = "the file does not have the digest of @esbuild/"
        with mock.patch("tarfile.open", side_effect=AssertionError):
            for content in (b"#!/bin/sh\n", b"", archive.getvalue()):
                path.write_bytes(content)
                reported = self.refused(setup.read_bundler, path, self.pin)
                self.assertTrue(reported.startswith(why), reported)

    def test_attack_endless_file(self):
        """A file over the limit is not read, and one that can't be is reported."""
        path = self.root / "given"
        with path.open("wb") as file:
            file.truncate(BUNDLER_BYTES + 1)
        for given, words in (
            (path, "does not have the digest of @esbuild/"),
            (
                self.root / "none",
                "the bundler cannot be read: No such file or directory",
            ),
        ):
            self.assertIn(words, self.refused(setup.read_bundler, given, self.pin))


class FindingTests(SourceCase):
    """Our own package's bundler, and the user's npm."""

    def npm(self, script: str) -> dict[str, str]:
        """An environment whose npm is a script."""
        path = self.root / "npm"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return {"PATH": f"{self.root}:/usr/bin:/bin"}

    def find(self, environ: dict[str, str]) -> bytes:
        """Find it, where the scratch directory is what our package ships."""
        with mock.patch.dict(os.environ, environ, clear=True):
            return setup.find_bundler(self.pin)

    def test_attack_tampered(self):
        """What npm brings, or our package ships, is verified like everything else."""
        environ = self.npm("echo evil > x.tgz")
        self.assertIn("not have the digest of", self.refused(self.find, environ))
        (self.root / "esbuild").write_bytes(b"evil")
        self.assertIn("not have the digest of", self.refused(self.find, {}))

    def test_what_needs_no_npm(self):
        """A setup needs it for neither that our package ships, nor that is in place."""
        data = DataDir(self.root / "data")
        for content, path in (
            (library(), self.root / setup.LIBRARY.file),
            (esbuild(), self.root / "esbuild"),
        ):
            self.assertTrue(setup.needs_npm(data, self.pin))
            path.write_bytes(content.read_bytes())
        self.assertFalse(setup.needs_npm(data, self.pin))
        data.create()
        setup.install_bundler(path.read_bytes(), data, self.pin)
        path.unlink()
        self.assertFalse(setup.needs_npm(data, self.pin))

    def test_what_npm_receives(self):
        """Npm gets one command, its own configuration, and nothing else."""
        environ = self.npm(
            f"cp {self.package()} x.tgz; echo $* > {self.root}/args; "
            f"pwd > {self.root}/cwd; env > {self.root}/env"
        )
        self.find(environ)
        # Where the user has named none, its cache goes with what it brought, and it
        # does not wait for a network that is not there.
        cwd = (self.root / "cwd").read_text().strip()
        lines = (self.root / "env").read_text().splitlines()
        retry = "npm_config_fetch_retry_{}={}".format
        times = {retry("mintimeout", 1000), retry("factor", 5)}
        usual = {f"npm_config_cache={cwd}/cache", *times}
        self.assertLessEqual(usual, set(lines))
        secrets = {"BRIDGE_SIGNING_KEY": "x", "AWS_SECRET": "x"}
        kept = {"HOME": "/h", "npm_config_cache": "/c", "https_proxy": "p", "TMP": "/t"}
        self.find({**environ, **secrets, **kept})
        self.assertEqual(
            (self.root / "args").read_text(),
            "pack --loglevel=error --ignore-scripts --pack-destination=. "
            f"--dry-run=false {self.pin.name}@0.28.2\n",
        )
        lines = (self.root / "env").read_text().splitlines()
        names = {line.partition("=")[0] for line in lines}
        of_shells = {"PWD", "_", "SHLVL", "OLDPWD"}
        ours = {"PATH", "NODE_DISABLE_COMPILE_CACHE"}
        ours |= {line.partition("=")[0] for line in usual}
        self.assertEqual(names - of_shells, {*ours, *kept})
        self.assertFalse(Path((self.root / "cwd").read_text().strip()).exists())

    def test_left_by_a_killed_setup(self):
        """The next setup removes it, but nothing of one that may be running."""
        temporary = self.root / "tmp"
        killed, running = (
            temporary / f"plugin-bridge-npm-{name}" for name in ("killed", "running")
        )
        (killed / "cache").mkdir(parents=True)
        os.utime(killed, (1, 1))
        running.mkdir()
        self.patch(tempfile, "tempdir", str(temporary))
        self.find(self.npm(f"cp {self.package()} x.tgz"))
        self.assertEqual(list(temporary.iterdir()), [running])

    def test_npm_that_fails(self):
        """Whatever is wrong with npm, what to run elsewhere is reported."""
        help_text = (
            f"where npm works, run npm pack {self.pin.name}@0.28.2, and here "
            f"plugin-bridge setup --bundler esbuild-{self.pin.platform}-0.28.2.tgz"
        )
        environ = self.npm("exit 1")
        late = subprocess.TimeoutExpired("npm", 120)
        with mock.patch("subprocess.run", side_effect=late):
            found = {self.refused(self.find, environ): "npm took longer than 120 s"}
        for script, why in (
            ("#!/bin/sh\nexit 1\n", "npm could not download it"),
            (
                "#!/bin/sh\necho >&2 'npm error code E404\nnpm error more'; exit 1\n",
                "npm could not download it (E404)",
            ),
            ("#!/bin/sh\nexit 0\n", "npm downloaded nothing"),
            ("#!/nowhere/node\n", "npm could not be run: No such file or directory"),
        ):
            (self.root / "npm").write_text(script)
            found[self.refused(self.find, environ)] = why
        missing = self.refused(self.find, {"PATH": "/nowhere"})
        found[missing] = "there is no npm to download it: install npm, and try again"
        for reported, why in found.items():
            self.assertEqual(reported, f"there is no bundler, and {why}; {help_text}")


class InstallingTests(SourceCase):
    def test_attack_open_umask(self):
        """Only its owner enters the directory, and only he writes what is in it."""
        data = DataDir(self.root)
        self.addCleanup(os.umask, os.umask(0))
        setup.install_bundler(esbuild().read_bytes(), data, self.pin)
        paths = (data.bin, data.bin / "esbuild", data.bin / "esbuild.sha256")
        modes = [path.stat().st_mode & 0o777 for path in paths]
        self.assertEqual(modes, [0o700, 0o755, 0o644])

    def test_not_in_place(self):
        """Another binary, another checksum or another mode is not in place."""
        data = DataDir(self.root)
        binary, checksum = data.bin / "esbuild", data.bin / "esbuild.sha256"
        self.assertFalse(setup.installed_bundler(data, self.pin))
        for spoil in (
            lambda: binary.write_bytes(b"x"),
            lambda: checksum.write_text("x"),
            checksum.unlink,
            lambda: binary.chmod(0o600),
        ):
            setup.install_bundler(esbuild().read_bytes(), data, self.pin)
            # As ``sha256sum`` writes it, in capitals.
            checksum.write_text(f"{self.pin.binary.upper()}  -\n")
            self.assertTrue(setup.installed_bundler(data, self.pin))
            spoil()
            self.assertFalse(setup.installed_bundler(data, self.pin))


class LibraryTests(SynchronousTestCase):
    """Tests with the real package."""

    def setUp(self) -> None:
        self.root = fresh_directory(self)
        self.package = library().read_bytes()

    def test_attack_other_package(self) -> None:
        """A package of another digest is refused, from wherever, and not opened."""
        (self.root / setup.LIBRARY.file).write_bytes(self.package[:-1] + b"x")
        self.patch(setup, "SHIPPED", self.root)
        for refused in (
            setup.find_library,
            lambda: setup.read_library(self.root / setup.LIBRARY.file),
        ):
            error = self.assertRaises(SetupError, refused)
            self.assertIn("not have the digest of preact@11.2.0", str(error))

    def test_what_the_bundle_needs(self) -> None:
        """Readable sources and types, the licence, and a description of these."""
        files = setup.library_files(self.package)
        about = json.loads(files[f"{setup.FOLDER}package.json"])
        for entry in about["exports"].values():
            for path in entry.values():
                self.assertIn(setup.FOLDER + path.removeprefix("./"), files)
        self.assertIn(b"MIT License", files[f"{setup.FOLDER}LICENSE"])
        ends = {path.rpartition(".")[2] for path in files}
        self.assertEqual(ends, {"js", "ts", "json", f"{setup.FOLDER}LICENSE"})

    def test_in_place(self) -> None:
        """The pinned version in place is found; one that was changed is not."""
        data = DataDir(self.root / "data")
        data.create()
        self.assertEqual(setup.installed_library(data), {})
        files = setup.library_files(self.package)
        install_sources(
            {**setup.own_sources(), **files}, data, __version__, force=False
        )
        self.assertEqual(setup.installed_library(data), files)
        (data.host / setup.FOLDER / "src/index.js").write_text("mine")
        self.assertEqual(setup.installed_library(data), {})
