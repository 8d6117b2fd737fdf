"""Tests for bridge.cli.command: how a command fails, and with which words."""

import contextlib
import io
import json

import click
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.command import NoDaemonError, command, json_option, plain, prefix_of
from bridge.cli.terminal import CommandError
from bridge.protocol.errors import BridgeError, Code, Prefix, plugin_error


class PlainTests(SynchronousTestCase):
    def test_every_prefix(self):
        """No code; a meaning stands before what would not be understood alone."""
        explained = {"clone_failed", "manifest_invalid", "policy"}
        explained |= {"approval_unavailable", "build_failed"}
        for prefix in Prefix:
            error = plugin_error(prefix, "the detail")
            self.assertIs(prefix_of(error), prefix)
            line = plain(error)
            meaning = f"{prefix.meaning}: " if prefix in explained else ""
            self.assertTrue(line.startswith(f"{meaning}the detail"), line)
            self.assertFalse(line.startswith(f"{prefix}: "), line)
            # A fault of the plugin's own is none that doctor knows.
            self.assertNotRegex(line, "doctor$")

    def test_others(self):
        """Without a prefix the message stands alone; a full daemon is asked again."""
        error = BridgeError(Code.UNAVAILABLE, "too many operations: wait")
        self.assertEqual(plain(error), "too many operations: wait")
        limited = BridgeError(Code.RATE_LIMITED, "too many requests")
        self.assertIn("try again", plain(limited))

    def test_attack_escapes(self):
        """What could control the terminal is removed."""
        error = plugin_error(Prefix.POLICY, "main.ts\x1b]0;x\x07")
        self.assertTrue(plain(error).isprintable())


class EndTests(SynchronousTestCase):
    def outcome(self, error, *words):
        """End with an error: the status, the output, and the error messages."""

        @command("install", "x", table=())
        @json_option
        def fail(as_json):
            raise error

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = fail.main(list(words), standalone_mode=False)
        return status, out.getvalue(), err.getvalue()

    def test_statuses(self):
        """Each kind of end has its documented status."""
        for error, status in (
            (NoDaemonError("none"), 3),
            (CommandError("broken"), 1),
            (CommandError("not done", 4), 4),
            (BridgeError(Code.UNAVAILABLE, "no"), 1),
            (plugin_error(Prefix.CANCELLED, "it was"), 130),
        ):
            found, out, err = self.outcome(error)
            self.assertEqual((found, out), (status, ""))
            self.assertRegex(err, r"\Aplugin-bridge install: .+\n\Z")
        self.assertRaises(click.Abort, self.outcome, KeyboardInterrupt())

    def test_json(self):
        """With ``--json`` the output has the code and the message of the wire."""
        error = plugin_error(Prefix.DENIED, "the user declined")
        _, out, err = self.outcome(error, "--json")
        expected = {"code": "bad_request", "message": "denied: the user declined"}
        self.assertEqual(json.loads(out), {"error": expected})
        self.assertTrue(err.startswith("plugin-bridge install: the user declined"), err)
        _, out, _ = self.outcome(CommandError("broken"), "--json")
        expected = {"code": "failed", "message": "broken"}
        self.assertEqual(json.loads(out), {"error": expected})
