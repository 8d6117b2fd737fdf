"""Setup as a whole: what is installed, in place, renewed or refused."""

import contextlib
import errno
import os
import sqlite3
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

import bridge
from bridge.datadir.paths import DataDir
from bridge.protocol.errors import UserError
from bridge.provision import setup as command
from bridge.provision.hostsources import install_sources, installed_sources
from bridge.provision.removal import check_removable
from bridge.provision.setup import Setup, own_sources, renew_sources
from bridge.settings.host import locate
from bridge.system.locks import acquire

from ..directories import fresh_directory, write_files
from ..npm import esbuild, library


class SetupCase(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)
        self.data = DataDir(self.root / "data")
        self.printed: list[str] = []

    def setup_host(self, host: str = "reference", **more) -> None:
        """Run setup with the bundler that the tests have."""
        given = {
            "bundler": esbuild(),
            "host_sources": None,
            "library": library(),
            **more,
        }
        self.printed.clear()
        place = locate(host, self.data.root, None)
        Setup(place, self.printed.append, **given).install()

    def refused(self, *args, **more) -> str:
        """Run setup, expect a failure, and give its words."""
        error = self.assertRaises(UserError, self.setup_host, *args, **more)
        self.assertNotIn("\n", str(error))
        return str(error)

    def tree(self) -> dict[Path, tuple[int, int]]:
        """Every file, with what changes when it is written again."""
        return {
            path: (path.stat().st_ino, path.stat().st_mtime_ns)
            for path in self.root.rglob("*")
            if path.name != "lock"
        }


class ReferenceTests(SetupCase):
    def test_all_of_it(self):
        """All is put in place once; when it is forced, again, but for the database."""
        self.setup_host()
        self.assertTrue((self.data.root / "host/packages/api/src/index.ts").exists())
        self.assertTrue((self.data.root / "host/packages/host/src/index.ts").exists())
        self.assertFalse((self.data.root / "host/page").exists())
        self.assertTrue(self.printed[0].startswith("bundler: installed esbuild 0.28.2"))
        self.assertTrue(self.printed[1].startswith("host sources: installed ("))
        self.assertEqual(self.printed[2], "sample database: installed")
        path = self.data.root / "sample.db"
        with contextlib.closing(sqlite3.connect(path)) as database:
            count = database.execute("SELECT count(*) FROM places").fetchone()
        self.assertEqual(count, (4,))
        before = self.tree()
        with mock.patch("subprocess.run", side_effect=AssertionError):
            self.setup_host(bundler=None, library=None)
        for line in self.printed:
            self.assertIn("already installed", line)
        self.assertEqual((len(self.printed), self.tree()), (3, before))
        self.setup_host(force=True)
        after = self.tree()
        changed = {p.name for p in before if before[p] != after.get(p)}
        self.assertTrue({"esbuild", "index.ts"} <= changed)
        self.assertNotIn("sample.db", changed)

    def test_two_at_once(self):
        """It waits for builds and for other setups: they would break each other."""
        self.setup_host()
        before = self.tree()
        self.addCleanup(acquire(self.data.build / "lock").release)
        self.patch(command, "NPM_SECONDS", 0.1)
        self.assertIn("another setup", self.refused(force=True))
        self.assertEqual(self.tree(), before)


class OtherHostTests(SetupCase):
    """A host whose sources somebody has to give."""

    def test_without_sources(self):
        """The bundler is installed all the same, and what to do is shown."""
        outputs = self.refused("vrcnext")
        for words in (
            "the sources of VRCNext's plugin system are missing: download ",
            " from https://github.com/vrcnext-plugins/vrcnext-plugin-system/releases, ",
            "; then pass the path with --host-sources",
        ):
            self.assertIn(words, outputs)
        self.assertTrue((self.data.bin / "esbuild").exists())
        self.assertFalse((self.data.root / "sample.db").exists())

    def test_with_sources(self):
        """Given sources are installed, and need not be given again."""
        reference = Path(bridge.__file__).parent / "reference"
        self.setup_host("vrcnext", host_sources=reference)
        self.setup_host("vrcnext")
        self.assertEqual(self.printed[1], "host sources: already installed")
        # As a data-dir in config.toml is any host's: the reference host has its own.
        place = locate("reference", self.data.root, None)
        for step in (self.setup_host, lambda: check_removable(place)):
            why = str(self.assertRaises(UserError, step))
            self.assertTrue(why.startswith(f"{self.data.root} is of the host vrcnext"))

    def test_without_a_realm(self):
        """What the host's plugins need is missed before anything is replaced."""
        given = self.root / "given"
        for part in ("api", "host"):
            write_files(given, {f"packages/{part}/src/index.ts": ""})
        self.assertIn(
            "is no packages/host/src/realm/", self.refused(host_sources=given)
        )
        self.assertFalse(self.data.host.exists())


class RenewalTests(SetupCase):
    """A start of another version than that which has installed the sources."""

    def install(self, version="0.0.9", host="reference", *, given=False) -> None:
        """Install the sources as another version has, without a file of this one."""
        self.setup_host()
        self.old = {
            **installed_sources(self.data.host),
            "packages/host/src/index.ts": b"1",
        }
        del self.old["packages/host/src/realm/runtime.ts"]
        install_sources(self.old, self.data, version, host, given=given, force=True)

    def renew(self, host: str = "reference") -> str:
        """Renew them; return what is logged."""
        return renew_sources(locate(host, self.data.root, None))

    def test_unmodified(self):
        """The reference host's sources are replaced, without npm, and once."""
        this = bridge.__version__
        for version, host, old in (
            ("0.0.9", "", ""),
            (this, "reference", "another build of "),
        ):
            self.install(version, host)
            self.assertEqual(
                self.renew(),
                f"the host's sources of {old}version {version} were replaced by those "
                f"of version {this}",
            )
            sources = installed_sources(self.data.host)
            self.assertEqual(own_sources().items() - sources.items(), set())
            self.assertEqual(self.renew(), "")
        # Earlier daemons recorded neither for which host they are, nor what was given.
        for recorded in {"host": ""}, {"given": True}:
            self.install(this, **recorded)
            self.assertEqual(self.renew(), "")
        self.install(given=True)
        self.assertIn("installed by version 0.0.9", self.renew())
        self.assertEqual(installed_sources(self.data.host), self.old)

    def test_modified(self):
        """What somebody has changed stays, and is named."""
        self.install()
        changed = self.data.host / "packages/host/src/index.ts"
        changed.write_bytes(b"2")
        with mock.patch.object(command, "library_at_hand", return_value={"a": b""}):
            self.assertIn("installed by version 0.0.9 of plugin-bridge", self.renew())
        self.assertEqual(changed.read_bytes(), b"2")
        changed.with_name("realm").joinpath("runtime.ts").touch()
        (self.data.host / "installed.json").unlink()
        self.assertIn("installed by an unknown version", self.renew())

    def test_another_host(self):
        """Another host's sources have to be given; a kill does not lose them."""
        self.install()
        self.data.host.rename(self.data.host_old)
        self.assertIn(
            "run: plugin-bridge setup --host-sources ARCHIVE", self.renew("vrcnext")
        )
        self.assertEqual(installed_sources(self.data.host), self.old)
        (self.data.host / "installed.json").unlink()
        self.assertEqual(self.renew("vrcnext"), "")

    def test_without_its_library(self):
        """They are not replaced without the library of this version."""
        for version in ("0.0.9", bridge.__version__):
            self.install(version)
            with mock.patch.object(command, "library_at_hand", return_value={}):
                self.assertIn("run: plugin-bridge setup --host reference", self.renew())
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch.object(command, "install_sources", side_effect=full):
            self.assertIn("run: plugin-bridge setup --host reference", self.renew())
        self.assertEqual(installed_sources(self.data.host), self.old)


class FailureTests(SetupCase):
    def test_no_bundler_for_this_system(self):
        """A system without a pinned bundler is reported."""
        with mock.patch.object(command, "pin_for", return_value=None):
            self.assertIn("there is no esbuild 0.28.2 for this", self.refused())

    def test_nowhere_to_write(self):
        """A data directory that can't be made, or filled, is reported once."""
        why = "the data directory cannot be written: "
        broken = sqlite3.OperationalError("full")
        with mock.patch.object(command.sqlite3, "connect", side_effect=broken):
            self.assertEqual(self.refused(), f"{why}full")
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with (
            mock.patch.object(command, "install_bundler", side_effect=full),
            mock.patch.object(command, "install_sources", side_effect=full),
        ):
            self.assertEqual(self.refused(), f"{why}No space left on device")
        self.data.root.rename(self.root / "aside")
        self.data.root.write_text("")
        self.assertIn(f"{self.data.root} is not a directory", self.refused())
