"""Tests for ``bridge.cli.commands.plugins``; the whole way is in ``tests/e2e``."""

import json
from typing import Any
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands.plugins import check_installed, line_of, row_of
from bridge.cli.session import Session
from bridge.cli.terminal import CommandError
from bridge.settings.host import load_profile

from .calls import CallCase

GOING = {
    "operation": "0123456789abcdef",
    "op": "update",
    "id": "good",
    "ref": None,
    "step": "clone",
    "message": "Cloning from forge.example",
    "startedAt": 1,
    "cancellable": True,
}


class CancelTests(CallCase):
    command = "cancel"

    def test_cancel(self) -> None:
        """The named operation is cancelled."""
        self.assertEqual(self.call("abc"), (0, "cancelled\n", ""))
        asked = [("plugins", "cancel", {"operation": "abc"})]
        self.assertEqual(self.server.asked, asked)

    def test_list(self) -> None:
        """Without a name, what is under way is listed; what has ended is not."""
        self.answering({"operations": [GOING, {**GOING, "outcome": "done"}]})
        line = "0123456789abcdef  update  good  clone  Cloning from forge.example\n"
        self.assertEqual(self.call(), (0, line, ""))
        self.assertEqual(self.server.asked, [("plugins", "operations", {})])
        listed = json.loads(self.call("--json")[1])
        self.assertEqual(listed, {"operations": [GOING]})

    def test_nothing(self) -> None:
        """What is idle is reported as such."""
        self.answering({"operations": []})
        self.assertEqual(self.call()[1], "no operation is under way\n")


class LineOfTests(SynchronousTestCase):
    def test_without_an_id(self) -> None:
        """An install has no id yet, and one that commits can't be cancelled."""
        install = {**GOING, "op": "install", "id": None, "cancellable": False}
        end = "install  clone  Cloning from forge.example  (too late to cancel)"
        self.assertTrue(line_of(install).endswith(end))

    def test_attack_escapes_in_a_message(self) -> None:
        """What a daemon reports does not reach the terminal as control sequences."""
        self.assertNotIn("\x1b", line_of({**GOING, "message": "\x1b[2Jx"}))


class InstalledTests(SynchronousTestCase):
    def test_read(self) -> None:
        """
        Only ``false`` switches off, or only ``true`` on, as the host's page reads it;
        what cannot be read is listed by its id.
        """
        listing = {
            "plugins": [{"id": "b"}, {"id": "a"}, {"id": "c"}],
            "broken": [{"id": "gone", "reason": "not_installed: its directory"}],
        }
        switches = {"enabled:a": False, "enabled:b": None, "enabled:c": True}
        answers = {"plugins": listing, "state": {"entries": switches}}

        def call(service: str, _method: str, **_: Any) -> Any:
            return answers[service]

        for host, on in (
            ("reference", [False, True, True, True]),
            ("vrcnext", [False, False, True, False]),
        ):
            place: Any = mock.Mock(profile=load_profile(host))
            asked = Session(place, mock.Mock(), mock.Mock())
            with mock.patch.object(asked, "call", call):
                found = asked.plugins()
            self.assertEqual([p["id"] for p in found], ["a", "b", "c", "gone"])
            self.assertEqual([p["enabled"] for p in found], on, host)
            self.assertIn("not in the bundle: not_installed", row_of(found[-1])[-1])

    def test_nearest(self) -> None:
        """The error has the nearest id, and what was typed as far as it is an id."""
        asked: Any = mock.Mock(place=mock.Mock(typed="X"))
        asked.plugins.return_value = [{"id": "weather"}]
        check_installed(asked, "weather", "weather")
        near = self.assertRaises(CommandError, check_installed, asked, "wether")
        self.assertIn("did you mean weather?", str(near))
        for typed, named in (("zzz", "zzz"), ("Zz\x1b", "with this id")):
            far = self.assertRaises(CommandError, check_installed, asked, typed)
            hint = f"no plugin {named} is installed; run: plugin-bridge list X"
            self.assertEqual(hint, str(far))


class SwitchTests(CallCase):
    def test_switch(self) -> None:
        """What is not the default of the host's page is set, and nothing else kept."""
        self.answering({"plugins": [{"id": "good"}], "broken": [], "entries": {}})
        at = {"ns": "host", "key": "enabled:good"}
        for host, self.command, expected in (
            ("reference", "enable", ("state", "delete", at)),
            ("reference", "disable", ("state", "set", {**at, "value": False})),
            ("vrcnext", "enable", ("state", "set", {**at, "value": True})),
            ("vrcnext", "disable", ("state", "delete", at)),
        ):
            self.done(self.call(f"--host={host}", "good"))
            self.assertEqual(self.server.asked[-1], expected, host)


class InstallTests(CallCase):
    command = "install"

    def test_preview(self) -> None:
        """
        What it is and asks for is shown before the prompt, and that is installed; then
        how to switch it on, where the host's page does not run it yet.
        """
        none: dict[str, list[str]] = {"gained": [], "lost": []}
        names = ("optionalPermissions", "hosts", "actions", "events")
        pin = {"commit": "c" * 40, "digest": "d" * 64}
        shown = {
            **pin,
            "manifest": {"id": "demo", "name": "D", "version": "1.0.0", "author": "A"},
            "key": {"keyId": "k", "trusted": False},
            "changes": {
                **dict.fromkeys(names, none),
                "permissions": {"gained": ["network", "new-one"], "lost": []},
            },
        }
        done = {"plugin": {"id": "demo", "version": "1.0.0"}}
        self.answering({**shown, **done, "entries": {"enabled:demo": True}})
        preview = (
            "demo 1.0.0: D, by A\n"
            "signed with the key k, not accepted yet\n"
            "- Go online: can send what it knows to sites you allow\n"
            "- new-one: a permission of this app\n"
        )
        found = self.call("https://forge.example/x")
        self.assertEqual(found, (0, "installed demo 1.0.0\n", preview))
        (_, first, _), (_, second, params), _ = self.server.asked
        self.assertEqual((first, second, params["pin"]), ("preview", "install", pin))
        self.answering({**shown, **done, "entries": {}})
        _, printed, _ = self.call("--host=vrcnext", "https://forge.example/x")
        self.assertIn("it is off; to switch it on, run: plugin-bridge enable", printed)

    def test_refused(self) -> None:
        """A preview that is refused as the install would be ends it, asked for once."""
        hint = "run: plugin-bridge doctor --prompt --host reference"
        gone = "the repository could not be fetched: no such repository"
        for why, words in (
            ("unsigned: there is no plugin.sig", "there is no plugin.sig"),
            ("clone_failed: no such\nrepository", gone),
            ("private_address: it was not confirmed", "was not confirmed"),
            ("approval_unavailable: there is no bus", hint),
        ):
            self.refusing("bad_request", why)
            self.assert_fails(words, self.call("--host=reference", "https://a.example"))
            self.assertEqual(self.server.asked.pop()[1], "preview")
            self.assertEqual(self.server.asked, [])

    def test_no_preview(self) -> None:
        """Where only previews are refused, the install is asked for."""
        self.refusing("bad_request", "busy: another preview is under way")
        self.call("https://forge.example/x")
        methods = [method for _, method, _ in self.server.asked]
        self.assertEqual(methods, ["preview", "install"])
