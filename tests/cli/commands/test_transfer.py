"""``export`` and ``import``, with a real daemon."""

import json
import stat
from pathlib import Path
from typing import Any

from bridge.cli.commands.transfer import Export, PluginSource, check_application
from bridge.cli.terminal import CommandError
from bridge.protocol.strictjson import dumps
from bridge.protocol.wire import unstructure

from ...directories import planted
from ...e2e.daemon import run
from ...e2e.test_install import InstallCase, tree
from ..commandcase import CommandTestCase


class WrittenTests(CommandTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.root / "export.json"

    def refused(self, data: Path) -> str:
        """Return why nothing is exported, and no file made."""
        place = ["--host=reference", f"--data-dir={data}"]
        why = self.failed(self.run_main("export", *place, str(self.file)))
        self.assertFalse(self.file.exists())
        return why

    def test_no_data_directory(self) -> None:
        """A data directory that is not there is not taken for one without plugins."""
        why = self.refused(self.root / "none")
        self.assertIn("there is no data directory", why)

    def test_attack_planted_state(self) -> None:
        """Another user's settings are not exported as one's own."""
        state = self.root / "state.json"
        state.write_text("{}")
        planted(self, state)
        self.assertIn(f"{state} belongs to another user", self.refused(self.root))


class ReadTests(CommandTestCase):
    def refused(self, file: Path | str, status: int = 1, stdin: bytes = b"") -> str:
        place = ["--host=reference", f"--data-dir={self.root}"]
        given = ("import", *place, str(file))
        return self.failed(self.run_main(*given, stdin=stdin), status)

    def test_not_ours(self) -> None:
        """What is none of ours, or newer, or no file, is refused, and not repeated."""
        ours, path = "not written by plugin-bridge export", self.root / "export.json"
        for text, why in (
            *((text, ours) for text in (b"", b"[]", b"SECRET", b"\xff")),
            (b'{"version":1,"SECRET":2}', ours),
            (b'{"version":2}', "must have version 1"),
            (b" " * 10_000_000, "over"),
        ):
            path.write_bytes(text)
            for printed in (self.refused(path), self.refused("-", stdin=text)):
                self.assertIn(why, printed)
                self.assertNotIn("SECRET", printed)
        self.assertIn("No such file", self.refused("/none", 2))
        self.assertIn("Is a directory", self.refused(self.root, 2))

    def test_of_another_host(self) -> None:
        """What another application's page has set is not brought to this one."""
        export = Export(1, "VRCNext", "1970-01-01T00:00:00Z", [], {})
        check_application(export, "VRCNext")
        why = r"\Athe file is for VRCNext, not for plugin-bridge; choose the host with "
        with self.assertRaisesRegex(CommandError, rf"{why}--host\Z"):
            check_application(export, "plugin-bridge")


class RoundTripTests(InstallCase):
    """Tests for taking plugins and settings from one computer to another."""

    def transfer(self, command: str, *options: str) -> Any:
        """Export the data directory of a daemon, or import into it."""
        self.file = self.home / "export.json"
        return run(self.home, command, *self.where, *options, str(self.file))

    def test_round_trip(self) -> None:
        """What was exported is installed and set elsewhere; what is there stays."""
        url = self.publish("good", tree("good"))
        setting = {"ns": "host", "key": "loud", "value": [True]}
        with self.daemon("--dev") as daemon, daemon.page() as page:
            page.result("plugins", "install", {"url": url})
            page.result("state", "set", setting)
            exported = self.transfer("export")
            self.assertEqual(exported.returncode, 0, exported.stderr)
            self.assertEqual(exported.stderr, "plugins: 1, settings: 1\n")
            self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
            made = json.loads(self.file.read_bytes())
            self.assertRegex(made["exportedAt"], r"^\d{4}(-\d\d){2}T(\d\d:){2}\d\dZ$")
            self.assertEqual(made["state"], {"host": {"loud": [True]}})
            again = self.transfer("import")
            self.assertIn("good: already installed", again.stdout)
            self.assertIn("0 set, 1 kept, 0 refused", again.stdout)
            # To Python, 1 is true.
            page.result("state", "set", {**setting, "value": [1]})
            for replace, value in ((), b"[1]"), (("--replace",), b"[true]"):
                self.transfer("import", *replace)
                there = page.result("state", "get", {"ns": "host", "key": "loud"})
                self.assertEqual(dumps(there["value"]), value)
            page.result("plugins", "uninstall", {"id": "good"})
            back = self.transfer("import")
            self.assertEqual(back.returncode, 0, back.stdout + back.stderr)
            self.assertIn("good: installing\n", back.stdout)
            self.assertIn("good: installed", back.stdout)
            listed = page.result("plugins", "list")["plugins"]
            self.assertEqual([plugin["id"] for plugin in listed], ["good"])

    def test_attack_another_plugin_in_the_repository(self) -> None:
        """It gets nothing of the one that was, nor does what the file does not list."""
        url = self.publish("other", tree("other"))
        state: dict[str, Any] = {
            "plugin:good": {"token": "secret"},
            "plugin:other": {"n": 1},
            "plugin:unlisted": {"n": 1},
            "host": {
                **{f"grants:{name}": [1] for name in ("good", "other", "unlisted")},
                "enabled:unlisted": True,
                "theme": "dark",
            },
        }
        refused = {"bridge.plugins": {"x": 1}}
        gone = PluginSource("gone", self.forge.url("gone"))
        sources = [gone, *(PluginSource(name, url) for name in ("good", "other"))]
        export = Export(1, "plugin-bridge", "", sources, {**refused, **state})
        (self.home / "export.json").write_bytes(dumps(unstructure(export)))
        with self.daemon("--dev") as daemon, daemon.page() as page:
            done = self.transfer("import")
            kept = [page.result("state", "list", {"ns": ns})["entries"] for ns in state]
        self.assertEqual(done.returncode, 1)
        self.assertIn("gone: refused: clone_failed", done.stdout)
        self.assertIn("other: installed\ngood: not in its repository", done.stdout)
        self.assertIn("other: permissions set\nsettings: 3 set, 0 kept", done.stdout)
        self.assertIn("not listed or not installed: 5\n", done.stdout)
        host = {"grants:other": [1], "theme": "dark"}
        self.assertEqual(kept, [{}, {"n": 1}, {}, host])
