"""Tests for bridge.cli.diagnosis.checkup."""

from __future__ import annotations

import json
import os
import socket
from hashlib import sha256
from unittest.mock import patch

from attrs import evolve
from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from bridge import __version__
from bridge.approval import Operation
from bridge.cli.diagnosis import checkup, probing
from bridge.cli.diagnosis.checkup import Finding, Level
from bridge.datadir.token import PairingToken
from bridge.freedesktop import DesktopError, Server
from bridge.plugins.bundle.prerequisites import API_ENTRY, HOST_ENTRY
from bridge.plugins.installed.exchange import Exchange, Journal
from bridge.provision.hostsources import install_sources
from bridge.settings.options import Paths, locate
from bridge.settings.values import Address
from bridge.system.locks import acquire

from ...approval.screens import FakeScreen
from ...directories import fresh_directory, planted


class DiskTests(SynchronousTestCase):
    """Tests for what is looked at on disk."""

    def setUp(self) -> None:
        """An empty place."""
        self.root = fresh_directory(self) / "data"
        self.place: Paths = locate("reference", self.root, None)

    def found(self) -> dict[str, Finding]:
        """Look, and give the findings by name."""
        return {f.name: f for f in checkup.on_disk(self.place)}

    def wrong(self) -> set[str]:
        """Name what is wrong; each such finding has a fix."""
        found = [f for f in self.found().values() if f.level is Level.WRONG]
        self.assertTrue(all(f.fix for f in found))
        return {f.name for f in found}

    def test_nothing_is_there(self) -> None:
        """Before setup, setup is the fix; the check creates nothing."""
        self.assertEqual(self.wrong(), {"data directory", "bundler", "host sources"})
        self.assertIn("plugin-bridge setup --host", self.found()["bundler"].fix)
        self.assertFalse(self.root.exists())

    def test_setup_needs_sources(self) -> None:
        """Sources that do not ship here are asked for until they are installed."""
        self.place = locate("vrcnext", self.root, None)
        found = self.found()
        for name in ("data directory", "bundler", "host sources"):
            fix = found[name].fix
            self.assertIn("plugin-bridge setup --host-sources ARCHIVE --host", fix)
        for name in (HOST_ENTRY, API_ENTRY):
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).touch()
        self.assertNotIn("--host-sources", self.found()["bundler"].fix)

    def test_settings_cannot_be_read(self) -> None:
        """Damaged settings are reported, with what the daemon will do."""
        self.place.data.create()
        self.place.data.state.write_text("{")
        self.assertIn("settings", self.wrong())

    def test_what_a_start_would_lose(self) -> None:
        """Of damaged settings, the previous version is counted; or nothing is left."""
        self.place.data.create()
        self.place.data.state.write_text("{")
        self.assertIn("lose all settings", self.found()["settings"].fix)
        previous = self.place.data.state.with_name("state.json.bak")
        previous.write_text('{"host":{"a":1},"bridge.plugins":{"weather":{}}}')
        fix = self.found()["settings"].fix
        self.assertIn("previous version (2 values, 1 plugins), and lose the last", fix)
        previous.write_text("{")
        self.assertIn("lose all settings", self.found()["settings"].fix)

    def test_interrupted_operation(self) -> None:
        """What a start will settle is announced; nothing is while a daemon runs."""
        self.place.data.create()
        exchange = Exchange(Operation.INSTALL, "weather", ".tmp-0", None, {})
        Journal(self.place.data.journal).begin(exchange)
        found = self.found()["journal"]
        self.assertEqual(found.level, Level.NOTE)
        self.assertIn("install of weather was interrupted", found.text)
        lock = acquire(self.place.data.lock)
        self.addCleanup(lock.release)
        self.assertNotIn("journal", self.found())

    def test_changed_plugins(self) -> None:
        """A recorded plugin whose tree is gone or was changed is wrong."""
        self.place.data.create()
        url = "https://forge.example/weather"
        state = {"bridge.plugins": {"weather": {"url": url}}}
        self.place.data.state.write_text(json.dumps(state))
        found = self.found()["plugin"]
        self.assertEqual(found.level, Level.WRONG)
        self.assertIn("weather is left out of the next build: ", found.text)
        self.assertIn(url, found.fix)
        self.place.data.state.write_text("{}")
        self.assertNotIn("plugin", self.found())

    def test_no_prompts_with_dev(self) -> None:
        """Without prompts a missing server is a note; what is fine stays so."""
        wrong = Finding("notification server", Level.WRONG, "none", "log in")
        note = checkup.without_prompts(wrong)
        self.assertEqual((note.level, note.fix), (Level.NOTE, ""))
        fine = Finding("notification server", Level.OK, "dunst")
        self.assertIs(checkup.without_prompts(fine), fine)
        self.assertFalse(probing.is_dev(self.place))

    def test_settings_are_counted(self) -> None:
        """Good ones are counted."""
        self.place.data.create()
        self.place.data.state.write_text('{"host":{"a":1,"b":2}}')
        self.assertEqual(self.found()["settings"].text, "2 values")

    def test_previous_settings_are_counted(self) -> None:
        """Where the file is missing, the generation before it is what counts."""
        self.place.data.create()
        self.place.data.state.with_name("state.json.bak").write_text('{"host":{"a":1}}')
        self.assertEqual(self.found()["settings"].text, "1 value")

    def test_file_for_directory(self) -> None:
        """A file is no data directory; nobody is advised to change its mode."""
        self.root.write_text("")
        found = self.found()["data directory"]
        self.assertEqual(found.level, Level.WRONG)
        self.assertEqual(found.fix, "choose another with --data-dir")

    def test_journal_of_another_version(self) -> None:
        """What keeps the daemon from starting is reported."""
        self.place.data.create()
        self.assertNotIn("journal", self.found())
        self.place.data.journal.write_text("?")
        self.assertIn("journal", self.wrong())

    def test_tree_without_a_record(self) -> None:
        """A plugin's directory that no record knows is named; a clone is not."""
        self.place.data.create()
        for name in ("lost", "kept", ".tmp-0"):
            self.place.data.plugin(name).mkdir()
        self.place.data.state.write_text('{"bridge.plugins":{"kept":{}}}')
        found = [f for f in checkup.on_disk(self.place) if "tree" in f.name]
        self.assertEqual([f.level for f in found], [Level.WRONG])
        self.assertIn("plugins/lost belongs to no", found[0].text)
        self.place.data.journal.write_text("?")
        self.assertNotIn("plugin tree", self.found())
        self.place.data.journal.unlink()
        self.place.data.state.write_text("{")
        self.assertNotIn("plugin tree", self.found())

    def test_open_directory(self) -> None:
        """A directory that others can read is reported."""
        self.place.data.create()
        self.root.chmod(0o755)
        found = self.found()["data directory"]
        self.assertEqual(found.level, Level.NOTE)
        self.assertIn("chmod 700", found.fix)

    def test_attack_open_to_be_written(self) -> None:
        """A directory that others can write is wrong: the daemon runs what is there."""
        self.place.data.create()
        for mode in (0o770, 0o702):
            self.root.chmod(mode)
            found = self.found()["data directory"]
            self.assertEqual(found.level, Level.WRONG)
            self.assertIn("chmod 700", found.fix)

    def test_attack_planted_files(self) -> None:
        """Whatever another user may have written is wrong, each with its command."""
        data = self.place.data
        data.create()
        paths = [
            data.bin / "esbuild",
            data.host / "packages" / "host.ts",
            data.build / "lock",
            data.plugin("clock") / "main.ts",
            data.plugin("watch") / "deep" / "main.ts",
            data.root / "state.json.bak",
            data.lock,
            data.address,
        ]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        name = "files of others"
        self.assertNotIn(name, self.found())
        for path in paths:
            planted(self, path)
        data.plugins.chmod(0o777)
        found = [f for f in checkup.on_disk(self.place) if f.name == name]
        self.assertEqual({f.level for f in found}, {Level.WRONG})
        named = {f.text.partition(" ")[0] for f in found}
        self.assertEqual(named, set(map(str, [data.plugins, *paths])))
        self.assertIn(f"chmod -R go-w {data.plugins}", found[0].fix)
        self.assertTrue(all("run: " in f.fix for f in found))

    def test_attack_planted_state_and_journal(self) -> None:
        """Neither is read."""
        self.place.data.create()
        for path in self.place.data.state, self.place.data.journal:
            path.write_bytes(b"{}")
            planted(self, path)
        self.assertLessEqual({"settings", "journal"}, self.wrong())
        self.assertIn("belongs to another user", self.found()["settings"].text)

    def test_fixes_are_commands(self) -> None:
        """A path with a space is one word of the command."""
        self.place = locate("reference", self.root / "a b", None)
        self.place.data.create()
        self.place.data.root.chmod(0o755)
        fix = self.found()["data directory"].fix
        self.assertEqual(fix, f"run: chmod 700 '{self.place.data.root}'")

    def test_of_another_user(self) -> None:
        """Somebody else's directory is wrong."""
        self.place.data.create()
        with patch.object(os, "geteuid", return_value=os.geteuid() + 1):
            self.assertIn("data directory", self.wrong())

    def test_token(self) -> None:
        """The token's file is validated as by the daemon, and never shown."""
        self.place.data.create()
        token = PairingToken.load_or_create(self.place.data.token)
        found = self.found()["pairing token"]
        self.assertEqual(found.level, Level.OK)
        self.assertNotIn(token.reveal(), found.text)
        self.place.data.token.chmod(0o644)
        self.assertIn("pairing token", self.wrong())

    def test_another_bundler(self) -> None:
        """A bundler that was not pinned is reported; wrong if it would not run."""
        self.place.data.create()
        self.place.data.bin.mkdir()
        (self.place.data.bin / "esbuild").write_bytes(b"")
        digest = self.place.data.bin / "esbuild.sha256"
        for printed, level in (
            (None, Level.WRONG),
            ("0" * 64, Level.WRONG),
            (sha256(b"").hexdigest(), Level.NOTE),
        ):
            if printed is not None:
                digest.write_text(printed)
            found = self.found()["bundler"]
            self.assertEqual((found.level, found.fix[-7:]), (level, "--force"))

    def test_no_bundler_for_this_system(self) -> None:
        """A missing bundler is reported."""
        with patch.object(checkup, "pin_for", return_value=None):
            self.assertEqual(self.found()["bundler"].level, Level.WRONG)

    def test_sources_and_theme(self) -> None:
        """What is in place is reported as such."""
        for name in (HOST_ENTRY, API_ENTRY):
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).touch()
        self.place.bundle.parent.mkdir(parents=True)
        self.place.bundle.touch()
        found = self.found()
        self.assertEqual(found["host sources"].level, Level.NOTE)
        self.assertIn("by an unknown version", found["host sources"].text)
        self.assertIn("run: plugin-bridge setup ", found["host sources"].fix)
        self.assertIn("is published", found["theme directory"].text)

    def test_sources_of_this_version(self) -> None:
        """Sources that this version has installed are fine."""
        sources = {path.removeprefix("host/"): b"" for path in (HOST_ENTRY, API_ENTRY)}
        install_sources(sources, self.place.data, __version__, force=False)
        self.assertEqual(self.found()["host sources"].level, Level.OK)

    def test_theme_cannot_be_written(self) -> None:
        """A theme directory that can't be made is wrong."""
        with patch.object(os, "access", return_value=False):
            self.assertIn("theme directory", self.wrong())

    def test_databases(self) -> None:
        """Each is reported as existing or not."""
        self.place.data.create()
        self.assertEqual(self.found()["database sample"].level, Level.NOTE)
        self.place.profile.database("sample", self.root).touch()
        self.assertEqual(self.found()["database sample"].level, Level.OK)


class DaemonTests(SynchronousTestCase):
    """Tests for looking for a daemon; a running one is in test_doctor."""

    def setUp(self) -> None:
        """An empty place, and a port."""
        self.place = locate("reference", fresh_directory(self), None)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listening.close)
        self.address = Address("127.0.0.1", self.listening.getsockname()[1])

    def test_another_program(self) -> None:
        """Without our daemon, the program on the port is another one."""
        with patch.object(probing, "REQUEST_SECONDS", 0.1):
            found = checkup.daemon(self.place, self.address)
        self.assertEqual(found.level, Level.WRONG)
        self.assertIn("another program", found.text)

    def test_not_running(self) -> None:
        """Without one, it names the command to start it."""
        self.listening.close()
        found = checkup.daemon(self.place, self.address)
        self.assertEqual(
            (found.level, found.fix),
            (Level.NOTE, f"run: plugin-bridge run {self.place.typed}"),
        )

    def test_service(self) -> None:
        """Where systemd is, it can start the daemon at each login, or right now."""
        self.listening.close()
        for is_there, fix in (
            (False, f"plugin-bridge setup --service {self.place.typed}"),
            (True, "run: systemctl --user start plugin-bridge.service"),
        ):
            with (
                patch.object(checkup, "has_systemd", lambda: True),
                patch.object(checkup, "missing_sources", lambda _: []),
                patch.object(checkup, "is_service_of", lambda _, it=is_there: it),
            ):
                found = checkup.daemon(self.place, self.address)
            self.assertTrue(found.fix.endswith(fix), found.fix)

    def test_starting(self) -> None:
        """One that has not written yet where it listens is left alone."""
        lock = acquire(self.place.data.lock)
        self.addCleanup(lock.release)
        found = checkup.daemon(self.place, self.address)
        self.assertEqual(found.level, Level.NOTE)

    def test_silent(self) -> None:
        """One that does not answer is wrong."""
        lock = acquire(self.place.data.lock)
        self.addCleanup(lock.release)
        self.listening.close()
        self.place.data.address.write_text(str(self.address))
        found = checkup.daemon(self.place, self.address)
        self.assertIn("does not answer", found.text)


class ServerTests(SynchronousTestCase):
    """Tests for looking who shows prompts."""

    def found(self, screen: FakeScreen) -> Finding:
        """Look at a desktop."""
        looking = Deferred.fromCoroutine(checkup.notification_server(screen))
        return self.successResultOf(looking)

    def test_buttons(self) -> None:
        """A server with buttons is fine, and the advice is to click them."""
        found = self.found(FakeScreen())
        self.assertEqual(found.level, Level.OK)
        self.assertIn("click Confirm or Deny", found.text)

    def test_how_to_click(self) -> None:
        """On a server that draws none the advice is how to answer."""
        for name, printed in (("dunst", "middle-click"), ("mako", "makoctl menu")):
            screen = FakeScreen()
            assert screen.server is not None
            screen.server = evolve(screen.server, name=name)
            self.assertIn(printed, self.found(screen).text)

    def test_no_actions(self) -> None:
        """A server that can't ask at all is wrong; its name is shown safely."""
        screen = FakeScreen()
        screen.server = Server(":1.1", "odd\x1b[31m", "1", frozenset({"body"}))
        found = self.found(screen)
        self.assertEqual(found.level, Level.WRONG)
        self.assertNotIn("\x1b", found.text)

    def test_none(self) -> None:
        """Where nobody answers, that is wrong."""
        screen = FakeScreen()
        screen.failure = "there is no session bus"
        with patch.object(screen, "find", lambda: fail(DesktopError("no bus"))):
            found = self.found(screen)
        self.assertEqual(found.level, Level.WRONG)
        self.assertIn("no prompt can be shown: no bus", found.text)
        self.assertIn("apt install dunst", found.fix)
        self.assertNotIn("--dev", found.text + found.fix)


class LinesTests(SynchronousTestCase):
    """Tests for the words."""

    def test_lines(self) -> None:
        """A line for each finding, and one for each fix."""
        findings = [
            Finding("a", Level.OK, "fine"),
            Finding("b", Level.WRONG, "gone", "run: it"),
        ]
        self.assertEqual(
            list(checkup.finding_lines(findings)),
            ["ok    a: fine", "WRONG b: gone", "      run: it"],
        )
