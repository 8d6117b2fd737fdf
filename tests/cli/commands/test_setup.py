"""``plugin-bridge setup``, whose work ``tests/provision`` has, and ``remove``."""

import errno
from pathlib import Path
from unittest import mock

from attrs import evolve

from bridge.datadir.paths import DataDir
from bridge.plugins.bundle.build import Report
from bridge.provision.npm import SetupError
from bridge.provision.removal import published
from bridge.provision.service import install_service
from bridge.settings.host import load_profile, locate

from ...npm import esbuild, setup_options
from ...provision.systemctl import SystemctlCase, unit_of
from ...waiting import PATIENCE_SECONDS
from ..commandcase import CommandTestCase, Outcome


class CommandTests(CommandTestCase):
    def setUp(self):
        super().setUp()
        self.data = DataDir(self.root / "data")
        self.where = ["--host", "reference", "--data-dir", str(self.data.root)]
        self.errors: list[str] = []

    def setup(self, *arguments: str) -> Outcome:
        """Run it, with a build that comes to ``errors``."""
        report = Report(not self.errors, duration_ms=1, plugins=[], errors=self.errors)
        with mock.patch("bridge.system.reactor.run_once", return_value=report):
            return self.run_main("setup", *self.where, *arguments)

    def failed_with(self, why: str, *arguments: str) -> None:
        status, _, err = self.setup(*arguments)
        self.assertEqual((status, err), (1, f"plugin-bridge setup: {why}"))

    def test_done(self):
        """It reports what it did, and where; the exit status is 0."""
        out = self.done(self.setup(*setup_options(), "--force"))
        self.assertIn(f"everything is installed in {self.data.root}\n", out)
        bundle = self.data.root / "themes/reference-host/reference-host.js"
        self.assertTrue(out.endswith(f"the bundle is built: {bundle}\n"), out)

    def test_service(self):
        """With ``--service`` the daemon of this directory starts at each login."""
        given = (*setup_options(), "--service")
        install = self.enterContext(
            mock.patch("bridge.cli.commands.setup.install_service", return_value="A")
        )
        out = self.done(self.setup(*given))
        self.assertIn("this replaces the service that had: A\n", out)
        self.assertIn("see: systemctl --user status plugin-bridge\n", out)
        install.assert_called_once_with(self.data, self.where)
        self.errors = ["broken"]
        self.failed_with("broken\n", *given)
        self.assertEqual(install.call_count, 1)
        self.errors = []
        # The usual one is named as well: the service is recognised by it.
        usual = evolve(load_profile("reference").directories, data=str(self.data.root))
        profile = evolve(load_profile("reference"), directories=usual)
        with mock.patch("bridge.settings.host.load_profile", return_value=profile):
            self.setup(*given)
        self.assertEqual(install.mock_calls, [mock.call(self.data, self.where)] * 2)
        install.side_effect = SetupError("--service: no")
        self.failed_with("--service: no\n", *given)
        self.assertEqual(self.setup("--service", "--bundler-only")[0], 2)

    def test_not_built(self):
        """Of sources that don't fit the bundler says hundreds of lines."""
        self.errors = ["first", *(f"line {n}\nmore" for n in range(99))]
        status, _, err = self.setup(*setup_options())
        self.assertEqual(status, 1)
        self.assertLess(err.count("\n"), 15)
        self.assertTrue(err.endswith("\nand 188 more\n"), err)

    def test_bundler_only(self):
        """It can be had without anything else, and is not reported as everything."""
        given = ("--bundler", str(esbuild()), "--bundler-only")
        out = self.done(self.setup(*given))
        self.assertTrue(out.endswith(f"the bundler is installed in {self.data.root}\n"))
        self.assertEqual(out.count("\n"), 2)
        self.assertTrue((self.data.bin / "esbuild").exists())
        for other in "host/packages", "sample.db":
            self.assertFalse((self.data.root / other).exists())
        self.assertEqual(self.setup(*given, "--host-sources", ".")[0], 2)

    def test_failed(self):
        """One line gives the reason, and the exit status is 1."""
        why = "cannot be read: No such file or directory"
        self.failed_with(
            f"the bundler {why}; --host-sources: {why}\n",
            *("--bundler", "/none", "--host-sources", str(self.root / "none")),
        )


class RemoveTests(CommandTestCase, SystemctlCase):
    def setUp(self) -> None:
        super().setUp()
        self.place = locate("reference", self.home / "data", self.home / "themes")
        self.place.data.create()
        (self.place.data.plugins / "good").mkdir()
        self.place.data.state.write_text("{}")
        folder = self.place.bundle.parent
        (folder / ".build-x").mkdir(parents=True)
        bundle = self.place.bundle
        self.published = [bundle, Path(f"{bundle}.map"), folder / "info.json"]
        for path in self.published:
            path.write_text("x")
        self.theirs = self.home / "themes" / "theirs.css"
        self.theirs.write_text("x")

    def remove(self, *options: str, typed: str | None = None) -> tuple[int, str, str]:
        """Run the command: its status, its output, and its error messages."""
        where = ["--host=reference", f"--data-dir={self.home / 'data'}"]
        where.append(f"--theme-dir={self.home / 'themes'}")
        return self.run_main("remove", *where, *options, typed=typed)

    def assert_removed(self) -> None:
        self.assertFalse(self.place.data.root.exists())
        self.assertFalse(self.place.bundle.parent.exists())
        self.assertTrue(self.theirs.exists())

    def assert_nothing_removed(self, words: str, *options: str, **more: str) -> None:
        """The command refuses with these words."""
        status, _, err = self.remove(*options, **more)
        self.assertEqual((status, err.count("\n")), (1, 1), err)
        self.assertIn(words, err)
        self.assertTrue((self.place.data.plugins / "good").exists())
        self.assertTrue(all(path.exists() for path in self.published))

    def test_removed(self) -> None:
        """Bundle, map, info.json and data go; what is left is named."""
        config = self.home / ".config" / "plugin-bridge"
        config.mkdir(parents=True)
        (config / "signing-key").write_text("x")
        (config / "config.toml").write_text("")
        (self.place.data.root / "bridge.log").touch()
        out = self.done(self.remove("--yes"))
        self.assert_removed()
        for path in (*self.published, self.place.data.root):
            self.assertIn(f"removed {path}\n", out)
        self.assertIn(f"left {config / 'config.toml'}, your options\n", out)
        self.assertIn(f"left {config / 'signing-key'}, the key", out)
        self.assertEqual(self.asked(), [])
        self.assertEqual(self.remove("--yes")[1], "there is nothing to remove\n")

    def test_closed_theme_directory(self) -> None:
        """What cannot be looked at is not listed; the attempt to remove it fails."""
        with mock.patch("os.stat", side_effect=PermissionError):
            self.assertEqual(published(self.place), [])
        closed = PermissionError(errno.EACCES, "Permission denied", "/closed/data")
        with mock.patch.object(Path, "exists", side_effect=closed):
            status, _, err = self.remove("--yes")
        self.assertEqual(status, 1)
        self.assertEqual(err, "plugin-bridge remove: /closed/data: Permission denied\n")

    def test_asks(self) -> None:
        """Only a yes removes anything; without a terminal, nobody can be asked."""
        self.assert_nothing_removed("add --yes")
        self.assert_nothing_removed("nothing was removed", typed="\n")
        out = self.done(self.remove(typed="y\n"))
        self.assertIn(f"This removes {self.place.data.root}\n", out)
        self.assert_removed()

    def test_service(self) -> None:
        """The service is stopped, disabled and deleted first."""
        options = ["--data-dir", str(self.place.data.root)]
        install_service(self.place.data, options)
        started = self.begin(self.place, as_service=True)
        out = self.done(self.remove("--yes"))
        self.assertTrue(out.startswith("removed the service plugin-bridge.service\n"))
        started.wait(PATIENCE_SECONDS)
        self.assertFalse(unit_of(self.home).exists())
        self.assert_removed()

    def test_running_daemon(self) -> None:
        """A daemon that is not the service is not stopped; nothing goes."""
        started = self.begin(self.place, as_service=False)
        self.assert_nothing_removed(f"); stop it first: kill {started.pid}", "--yes")
        self.assertIsNone(started.poll())

    def test_service_of_another_directory(self) -> None:
        """It stays as it is; who replaces it is told so."""
        other = locate("reference", self.home / "other", None)
        other.data.create()
        for data, former in ((self.place.data, ""), (other.data, "/data")):
            replaced = install_service(data, ["--data-dir", str(data.root)])
            self.assertEqual(replaced.strip()[-len("/data") :], former)
        self.assertEqual(self.remove("--yes")[0], 0)
        self.assertTrue(unit_of(self.home).exists())

    def test_service_that_cannot_be_stopped(self) -> None:
        """Then nothing is deleted."""
        install_service(self.place.data, ["--data-dir", str(self.place.data.root)])
        (self.fake / "refuses").touch()
        self.assert_nothing_removed("Failed to connect to bus", "--yes")

    def test_attack_directories_that_are_not_ours(self) -> None:
        """A home, a link and a directory of other files are never emptied."""
        documents = self.home / "documents"
        documents.mkdir()
        (documents / "letter").write_text("x")
        link = self.home / "link"
        link.symlink_to(self.place.data.root)
        for path in (self.home, Path("/"), documents, link):
            self.assert_nothing_removed(
                "nothing was removed", "--yes", f"--data-dir={path}"
            )
        self.assertTrue((documents / "letter").exists())
        with mock.patch.object(Path, "home", return_value=self.place.data.root):
            self.assert_nothing_removed("no data directory of its own", "--yes")
        # A daemon that was once started with such a directory does not make it ours.
        for name in ("letter", "host-photos", "tokens.txt", "state.json.mine"):
            path = self.place.data.root / name
            path.touch()
            self.assert_nothing_removed(f"{name} is not plugin-bridge's", "--yes")
            path.unlink()
        for name in ("state.json.corrupt-1", "state.json.bak.tmp", "bridge.log.1"):
            (self.place.data.root / name).touch()
        # As it was before the theme directory was another.
        (self.place.data.root / "themes").mkdir()
        self.done(self.remove("--yes"))
        self.assert_removed()
