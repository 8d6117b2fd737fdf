"""Tests for ``plugin-bridge remove``."""

import errno
from pathlib import Path
from unittest import mock

from bridge.provision.removal import published
from bridge.provision.service import install_service
from bridge.settings.options import locate

from ...provision.systemctl import SystemctlCase, unit_of
from ..commandcase import CommandTestCase


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
        self.until_ended(started)
        self.assertFalse(unit_of(self.home).exists())
        self.assert_removed()

    def test_running_daemon(self) -> None:
        """A daemon that is not the service is not stopped; nothing goes."""
        started = self.begin(self.place, as_service=False)
        self.assert_nothing_removed(f"(process {started.pid}); stop it first", "--yes")
        self.assertIsNone(started.poll())

    def test_service_of_another_directory(self) -> None:
        """It stays as it is."""
        other = locate("reference", self.home / "other", None)
        other.data.create()
        install_service(other.data, ["--data-dir", str(other.data.root)])
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
        # A daemon that was once started with such a directory does not make it ours.
        for name in ("letter", "host-photos", "tokens.txt", "state.json.mine"):
            path = self.place.data.root / name
            path.touch()
            self.assert_nothing_removed(f"{name} is not plugin-bridge's", "--yes")
            path.unlink()
        for name in ("state.json.corrupt-1", "state.json.bak.tmp", "bridge.log.1"):
            (self.place.data.root / name).touch()
        self.done(self.remove("--yes"))
        self.assert_removed()
