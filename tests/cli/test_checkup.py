import json
import os
import shutil
import socket
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock, patch

from attrs import evolve
from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from bridge import __version__
from bridge.cli import checkup
from bridge.cli.checkup import Finding, Level
from bridge.cli.commands import status
from bridge.cli.session import Session
from bridge.cli.terminal import CommandError
from bridge.datadir.token import read_or_make_token
from bridge.freedesktop.connection import DesktopError
from bridge.freedesktop.notifications import Server
from bridge.plugins.installed.exchange import Exchange, Journal
from bridge.protocol.steps import Operation
from bridge.provision import service as service_module
from bridge.provision.hostsources import install_sources
from bridge.settings.host import Paths, locate
from bridge.settings.values import Address
from bridge.system.locks import acquire

from ..approval.screens import FakeScreen
from ..directories import closed_below, fresh_directory, planted, write_files

OK, NOTE, WRONG = Level.OK, Level.NOTE, Level.WRONG
URL = "https://forge.example/weather"


class DiskTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = fresh_directory(self) / "data"
        self.place: Paths = locate("reference", self.root, None)
        self.data = self.place.data
        self.data.create()

    def found(self) -> dict[str, Finding]:
        found = {f.name: f for f in checkup.on_disk(self.place)}
        for finding in found.values():
            self.assertTrue(finding.fix or finding.level is not WRONG)
        return found

    def assert_wrong(self, name: str, text: str = "", fix: str = "") -> None:
        """Something is wrong, in these words, and so is what to do."""
        found = self.found()[name]
        self.assertEqual(found.level, WRONG)
        self.assertIn(text, found.text)
        self.assertIn(fix, found.fix)

    def write(self, path: Path, content: str = "") -> None:
        write_files(path.parent, {path.name: content})

    def test_nothing_is_there(self) -> None:
        """Before setup, setup is the fix; the check creates nothing."""
        shutil.rmtree(self.root)
        found = self.found()
        wrong = {name for name, one in found.items() if one.level is WRONG}
        self.assertEqual(wrong, {"data directory", "bundler", "host sources"})
        for name in ("bundler", "theme directory"):
            self.assertIn("plugin-bridge setup --host", found[name].fix)
        self.assertFalse(self.root.exists())

    def test_settings(self) -> None:
        """They are counted; of damaged ones, what a start would lose is named."""
        state, previous = self.data.state, self.data.root / "state.json.bak"
        older = '{"host":{"a":1},"bridge.plugins":{"weather":{}}}'
        for now, before, level, said in (
            ('{"host":{"a":1,"b":2}}', "", OK, "2 values"),
            (None, '{"host":{"a":1}}', OK, "1 value"),
            ("{", "", WRONG, "lose all settings"),
            ("{", "{", WRONG, "lose all settings"),
            ("null", older, WRONG, "start the version that wrote it"),
            ("{", older, WRONG, "previous version (2 values, 1 plugin), and lose the"),
        ):
            for path, text in ((state, now), (previous, before)):
                path.unlink(missing_ok=True)
                if text:
                    path.write_text(text)
            found = self.found()["settings"]
            self.assertEqual(found.level, level, said)
            self.assertIn(said, found.fix or found.text)

    def test_interrupted_operation(self) -> None:
        """What a start will settle is announced; nothing is while a daemon runs."""
        self.assertNotIn("journal", self.found())
        exchange = Exchange(Operation.INSTALL, "weather", ".tmp-0", None, {})
        Journal(self.data.journal).begin(exchange)
        found = self.found()["journal"]
        self.assertEqual(found.level, NOTE)
        self.assertIn("install of weather was interrupted", found.text)
        self.addCleanup(acquire(self.data.lock).release)
        self.assertNotIn("journal", self.found())
        self.data.journal.write_text("of another version")
        self.assert_wrong("journal")

    def test_changed_plugins(self) -> None:
        """A recorded plugin whose tree is gone or was changed is wrong."""
        state = {"bridge.plugins": {"weather": {"url": URL}}}
        self.data.state.write_text(json.dumps(state))
        self.assert_wrong("plugin", "weather is left out of the next build: ", URL)
        self.data.state.write_text("{}")
        self.assertNotIn("plugin", self.found())

    def test_tree_without_a_record(self) -> None:
        """A plugin's directory that no record knows is named; a clone is not."""
        for name in ("lost", "kept", ".tmp-0"):
            self.data.plugin(name).mkdir()
        self.data.state.write_text('{"bridge.plugins":{"kept":{}}}')
        found = [f for f in checkup.on_disk(self.place) if "tree" in f.name]
        self.assertEqual([f.level for f in found], [WRONG])
        self.assertIn("plugins/lost belongs to no", found[0].text)
        self.data.journal.write_text("?")
        self.assertNotIn("plugin tree", self.found())
        self.data.journal.unlink()
        self.data.state.write_text("{")
        self.assertNotIn("plugin tree", self.found())

    def test_attack_directory_of_others(self) -> None:
        """One that others can read, or even write, or own, has its command."""
        self.place = locate("reference", self.root / "a b", None)
        self.place.data.create()
        root = self.place.data.root
        for mode, level in ((0o755, NOTE), (0o770, WRONG), (0o702, WRONG)):
            root.chmod(mode)
            found = self.found()["data directory"]
            self.assertEqual(
                (found.level, found.fix), (level, f"run: chmod 700 '{root}'")
            )
        with patch.object(os, "geteuid", return_value=os.geteuid() + 1):
            found = self.found()["data directory"]
        self.assertEqual((found.level, found.fix[:14]), (WRONG, "run: sudo chow"))
        root.chmod(0o700)
        self.root.parent.chmod(0o755)
        self.root.chmod(0o777)
        self.assert_wrong("data directory", "can be replaced by other users")
        shutil.rmtree(root)
        root.write_text("")
        found = self.found()["data directory"]
        self.assertEqual(found.fix, "choose another with --data-dir")

    def test_read_only_directory(self) -> None:
        """One that the daemon cannot write is wrong, and so are those below it."""
        for closed in (self.root, self.data.plugins, self.data.build):
            with patch.object(os, "access", lambda path, mode, no=closed: path != no):
                self.assert_wrong("data directory", f"{closed} cannot be written")

    def test_attack_planted_files(self) -> None:
        """Whatever another user may have written is wrong, each with its command."""
        data = self.data
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
            self.write(path)
        name = "files of others"
        self.assertNotIn(name, self.found())
        for path in paths:
            planted(self, path)
        data.log.parent.mkdir()
        for directory in (data.plugins, data.log.parent):
            directory.chmod(0o777)
        found = [f for f in checkup.on_disk(self.place) if f.name == name]
        self.assertEqual({f.level for f in found}, {WRONG})
        named = {f.text.partition(" ")[0] for f in found}
        paths += [data.plugins, data.log.parent]
        self.assertEqual(named, set(map(str, paths)))
        self.assertIn(f"chmod -R go-w {data.plugins}", found[0].fix)
        self.assertTrue(all("run: " in f.fix for f in found))

    def test_attack_planted_state_and_journal(self) -> None:
        """Neither is read."""
        for path, name in (
            (self.data.state, "settings"),
            (self.data.journal, "journal"),
        ):
            path.write_bytes(b"{}")
            planted(self, path)
            self.assert_wrong(name, "belongs to another user")

    def test_closed_directory(self) -> None:
        """What cannot be looked at is reported like what is not there."""
        with closed_below(self.root):
            found = self.found()
        self.assertIn("is missing", found["bundler"].text)

    def test_token(self) -> None:
        """The token's file is validated as by the daemon, and never shown."""
        token = read_or_make_token(self.data.token)
        found = self.found()["pairing token"]
        self.assertEqual(found.level, OK)
        self.assertNotIn(token, found.text)
        self.data.token.chmod(0o644)
        self.assert_wrong("pairing token")

    def test_another_bundler(self) -> None:
        """A bundler that was not pinned is reported; wrong if it would not run."""
        self.write(self.data.bin / "esbuild")
        (self.data.bin / "esbuild").chmod(0o666)
        self.assert_wrong("bundler", fix=f"chmod -R go-w {self.data.bin}")
        (self.data.bin / "esbuild").chmod(0o600)
        for digest in ("", "0" * 64):
            if digest:
                self.write(self.data.bin / "esbuild.sha256", digest)
            self.assert_wrong("bundler", fix="run: plugin-bridge setup")
        self.write(self.data.bin / "esbuild.sha256", sha256(b"").hexdigest())
        found = self.found()["bundler"]
        self.assertEqual((found.level, found.fix[-7:]), (NOTE, "--force"))
        with patch.object(checkup, "pin_for", return_value=None):
            levels = {f.name: f.level for f in checkup.on_disk(self.place)}
        self.assertEqual(levels["bundler"], WRONG)

    def test_sources_theme_and_databases(self) -> None:
        """What is in place is reported as such."""
        self.assertEqual(self.found()["database sample"].level, NOTE)
        self.place.profile.database("sample", self.root).touch()
        needed = self.place.profile.needed_sources
        for name in needed:
            self.write(self.root / name)
        self.write(self.place.bundle)
        found = self.found()
        self.assertEqual(found["database sample"].level, OK)
        self.assertEqual(found["host sources"].level, NOTE)
        self.assertIn("by an unknown version", found["host sources"].text)
        self.assertIn("run: plugin-bridge setup ", found["host sources"].fix)
        self.assertIn("is published", found["theme directory"].text)
        sources = {path.removeprefix("host/"): b"" for path in needed}
        install_sources(sources, self.data, __version__, given=True, force=True)
        self.assertEqual(self.found()["host sources"].level, OK)
        with patch.object(os, "access", return_value=False):
            self.assertEqual(self.found()["theme directory"].level, WRONG)
        install_sources(sources, self.data, __version__, "vrcnext", force=True)
        whose = self.found()["data directory"]
        self.assertEqual(whose.level, WRONG)
        self.assertIn("is of the host vrcnext, not of reference", whose.text)
        problem = status.on_disk(self.place, "not running").problems[-1]
        self.assertEqual(problem, f"{whose.text}; {whose.fix}")

    def test_lines(self) -> None:
        """A line for each finding, and one for each fix, which is written once."""
        gone = Finding("b", WRONG, "gone", "run: it")
        findings = [Finding("a", OK, "fine"), gone, evolve(gone, level=NOTE)]
        lines = ["ok    a: fine", "WRONG b: gone", "      run: it"]
        lines += ["note  b: gone", "      as above"]
        self.assertEqual(list(checkup.finding_lines(findings)), lines)


class DaemonTests(SynchronousTestCase):
    """Tests for looking for a daemon; a running one is in test_doctor."""

    def setUp(self) -> None:
        self.place = locate("reference", fresh_directory(self), None)
        self.listening = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        self.address = Address("127.0.0.1", self.listening.getsockname()[1])

    def found(self) -> Finding:
        found, is_dev = checkup.daemon(self.place, self.address)
        self.assertFalse(is_dev)
        return found

    def test_not_running(self) -> None:
        """How to start it is named: once, at each login, or the service right now."""
        self.listening.close()
        start = f"run: plugin-bridge run {self.place.typed}"
        login = f"{start}, or, to start it at each login:"
        written = f"{login} plugin-bridge setup --service {self.place.typed}"
        enabled = f"{login} systemctl --user enable --now plugin-bridge.service"
        service = "run: systemctl --user start unit"
        own, packaged = service_module.__file__, "/usr/lib/x/service.py"
        for file, has_systemd, is_usual, is_service, fix in (
            (own, False, False, False, start),
            (packaged, True, False, False, start),
            (packaged, True, True, False, enabled),
            (own, True, False, False, written),
            (own, True, False, True, service),
            (packaged, True, True, True, written),
        ):
            with (
                patch.object(service_module, "__file__", file),
                patch.object(service_module, "has_systemd", return_value=has_systemd),
                patch.object(service_module, "is_usual", return_value=is_usual),
                patch.object(service_module, "is_written", return_value=is_service),
                patch.object(checkup, "missing_sources", return_value=[]),
                patch.object(service_module, "is_service_of", return_value=is_service),
                patch.object(service_module, "unit_to_start", return_value="unit"),
            ):
                self.assertEqual((self.found().level, self.found().fix), (NOTE, fix))

    def test_starting_or_silent(self) -> None:
        """One that is woken has no address yet; one that is silent is wrong."""

        def wake(place: Paths) -> None:
            self.addCleanup(acquire(place.data.lock).release)

        with patch.object(service_module, "wake", wake):
            self.assertEqual(self.found().level, NOTE)
        self.place.data.address.write_text(str(self.address))
        for token in ("A" * 43, "damaged"):
            self.place.data.token.write_text(token)
            self.place.data.token.chmod(0o600)
            self.assertEqual(self.found().level, WRONG)
            self.assertIn("running, but cannot be used: ", self.found().text)

    def test_hangs_or_is_outdated(self) -> None:
        """Its state is said once, and how to go on once."""
        self.addCleanup(acquire(self.place.data.lock).release)
        self.place.data.address.write_text(str(self.address))
        hangs = CommandError("the daemon does not answer; end it, and start it again")
        with patch.object(checkup, "connect", side_effect=hangs):
            found = self.found()
        why = "running, but cannot be used: the daemon does not answer"
        fix = "end it, and start it again"
        self.assertEqual(found, Finding("daemon", WRONG, why, fix))
        welcomed = Session(self.place, Mock(), Mock())
        welcomed.welcome = {"version": "0"}
        with patch.object(checkup, "connect", return_value=welcomed):
            found = self.found()
        self.assertEqual((found.level, found.fix), (NOTE, "restart it"))


class ServerTests(SynchronousTestCase):
    def found(self, screen, *, no_prompts: bool = False) -> Finding:
        looking = checkup.notification_server(screen, no_prompts)
        return self.successResultOf(Deferred.fromCoroutine(looking))

    def test_buttons(self) -> None:
        """The advice is how to answer there."""
        for name, printed in (
            ("any", "click Confirm or Deny"),
            ("dunst", "Middle-click"),
            ("mako", "makoctl menu"),
        ):
            screen = FakeScreen()
            screen.server = evolve(screen.server, name=name)
            for no_prompts in (False, True):
                found = self.found(screen, no_prompts=no_prompts)
                self.assertEqual(found.level, OK)
                self.assertIn(printed, found.text)

    def test_no_prompt_possible(self) -> None:
        """Where nobody answers, or can't, that is wrong, unless no prompt is needed."""
        none, odd = FakeScreen(), FakeScreen()
        odd.server = Server(":1.1", "odd\x1b[31m", "1", frozenset({"body"}))
        missing = "no prompt can be shown: no bus"
        for screen, desktop, text, fix in (
            (none, "sway", missing, "install one, such as dunst"),
            (none, "ubuntu:GNOME", missing, "log in again, or restart"),
            (odd, "KDE", "odd 1 has no buttons", "use one with actions"),
        ):
            with (
                patch.object(none, "find", lambda: fail(DesktopError("no bus"))),
                patch.dict(os.environ, XDG_CURRENT_DESKTOP=desktop),
            ):
                found = self.found(screen)
                note = self.found(screen, no_prompts=True)
            self.assertEqual((found.level, note.level), (WRONG, NOTE))
            self.assertEqual(found.text[: len(text)], text)
            self.assertIn(fix, found.fix)
            self.assertNotIn("--dev", found.text + found.fix)
            self.assertEqual(note.fix, "")
