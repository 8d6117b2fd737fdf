"""The link of a working tree; ``tests/whole/test_dev.py`` has one with a daemon."""

from __future__ import annotations

import json
import os
from unittest import mock

from twisted.internet.error import ConnectionRefusedError as RefusedError
from twisted.internet.testing import (
    MemoryReactorClock,
    StringTransportWithDisconnection,
)
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.developing import session as module
from bridge.cli.developing.pluginlog import PluginLog
from bridge.cli.developing.session import Session
from bridge.cli.hostpage import DevPage
from bridge.cli.terminal import CommandError
from bridge.datadir.token import PairingToken
from bridge.plugins.policy.rules.table import ADVICE
from bridge.protocol.limits import DEV_POLL_SECONDS
from bridge.protocol.wire import converter, structure
from bridge.services.linking import WorkTree

from ...directories import fresh_directory

REPORT = {"ok": True, "durationMs": 12, "plugins": ["demo"], "errors": []}
PLUGIN = {
    "id": "demo",
    "name": "Demo",
    "version": "1.0.0",
    "shadows": False,
    "report": REPORT,
}


def response(result):
    """Make the answer to a tree."""
    return {"type": "response", "id": "tree", "ok": True, "result": result}


def linked(**more):
    """Make the answer to a tree that is linked."""
    return response({"linked": {**PLUGIN, **more}, "message": "", "hits": []})


def refused(message, hits=()):
    """Make the answer to a tree that is refused."""
    return response({"message": message, "hits": list(hits)})


LINKED = linked()


class SessionTestCase(SynchronousTestCase):
    """A test with a tree, and what stands for the daemon."""

    def setUp(self):
        """Connect."""
        self.root = fresh_directory(self)
        self.tree = self.root / "tree"
        self.tree.mkdir()
        self.write("main.ts", "export default 1;\n")
        self.reactor = MemoryReactorClock()
        self.printed: list[str] = []
        self.page = mock.Mock(spec=DevPage)
        self.log = mock.Mock(spec=PluginLog)
        self.token = PairingToken.load_or_create(self.root / "token")
        self.warnings: list[str] = []
        self.session = Session(
            self.reactor,
            self.tree,
            self.page,
            self.log,
            self.printed.append,
            self.token,
            "nobody",
            lambda _: list(self.warnings),
            lambda: "12:00:00",
        )
        self.session.begin(str(self.root / "control.socket"))
        self.factory = self.reactor.unixClients[0][1]

    def write(self, name, content):
        """Write a file of the tree."""
        (self.tree / name).write_text(content)

    def connect(self):
        """Accept the connection."""
        protocol = self.factory.buildProtocol(None)
        self.wire = StringTransportWithDisconnection()
        self.wire.protocol = protocol
        protocol.makeConnection(self.wire)
        self.protocol = protocol
        hello = json.loads(self.wire.value())
        self.assertEqual(
            (hello["type"], hello["token"]), ("hello", self.token.reveal())
        )
        self.wire.clear()
        self.answer({"type": "welcome", "version": "1", "services": {"remote": {}}})

    def answer(self, message):
        """Send something, as the daemon."""
        line = message if type(message) is bytes else json.dumps(message).encode()
        self.protocol.dataReceived(line + b"\n")

    def look(self, times=3):
        """Let time pass."""
        for _ in range(times):
            self.reactor.advance(DEV_POLL_SECONDS)

    def sent(self):
        """What was sent since the last look."""
        text = self.wire.value()
        self.wire.clear()
        frames = [json.loads(line) for line in text.splitlines()]
        for frame in frames:
            self.assertEqual((frame["service"], frame["method"]), ("dev", "link"))
        return [structure(converter, frame["params"], WorkTree) for frame in frames]


class SessionTests(SessionTestCase):
    """A conversation with the daemon."""

    def setUp(self):
        """Begin it."""
        super().setUp()
        self.connect()

    def test_tree_is_sent(self):
        """At first, and after each change, the tree is sent with its files' names."""
        (self.tree / "node_modules").mkdir()
        self.write("node_modules/x.js", "")
        self.look()
        (asked,) = self.sent()
        self.assertEqual((asked.directory, asked.files), (str(self.tree), ["main.ts"]))
        self.answer(LINKED)
        self.look()
        self.assertEqual(self.sent(), [])
        self.write("b.ts", "")
        self.look()
        self.assertEqual(self.sent()[0].files, ["b.ts", "main.ts"])

    def test_one_at_a_time(self):
        """A change while the daemon builds is sent when it has answered."""
        self.look()
        self.sent()
        self.write("b.ts", "")
        self.look()
        self.assertEqual(self.sent(), [])
        self.answer(LINKED)
        self.look()
        self.assertEqual(len(self.sent()), 1)

    def test_linked_is_reported(self):
        """What is linked is reported once, and each build."""
        report = {**REPORT, "errors": ["other is left out:\x1b gone"]}
        self.warnings.append("main.ts:1 document")
        self.answer(linked(shadows=True, report=report))
        self.answer(LINKED)
        self.assertEqual(
            self.printed,
            [
                f"watching {self.tree}; press Ctrl-C to stop",
                "12:00:00 linked demo 1.0.0; it replaces the installed plugin",
                "12:00:00 built in 12 ms",
                "  other is left out:\\x1b gone",
                "  main.ts:1 document",
                "12:00:00 built in 12 ms",
                "  main.ts:1 document",
            ],
        )

    def test_page_and_log(self):
        """The page starts once the daemon is there, and reloads with each build."""
        self.page.start.assert_called_once_with()
        self.page.built.assert_not_called()
        self.answer(refused("policy: x"))
        self.page.built.assert_not_called()
        self.answer(LINKED)
        self.answer(LINKED)
        self.assertEqual(self.page.built.call_count, 2)
        scope, show = self.log.follow.call_args.args
        self.printed.clear()
        show("info  said\x1b hello")
        self.assertEqual(
            (scope, self.printed), ("demo", ["12:00:00 info  said\x1b hello"])
        )
        self.session.end()
        self.log.stop.assert_called_once_with()

    def test_refusal_is_reported(self):
        """A refusal is reported whole, with the lines of source it is about."""
        self.write("main.ts", "eval('\x1b');\n")
        self.printed.clear()
        hits = [{"file": "main.ts", "line": 1, "rule": "eval"}]
        self.answer(refused("policy: x", hits))
        self.assertEqual(
            self.printed,
            [
                "12:00:00 refused: policy: x",
                "  main.ts:1 eval",
                "      eval('\\x1b');",
                f"      fix: {ADVICE['eval']}",
            ],
        )
        self.answer(LINKED)
        self.printed.clear()
        self.answer(refused("build_failed: a\nb"))
        self.assertEqual(
            self.printed,
            [
                "12:00:00 refused: build_failed: a",
                "  b",
                "  the last good build stays in use",
            ],
        )

    def test_refused_manifest(self):
        """The line of the manifest that a refusal is about is quoted."""
        self.write("plugin.json", '{\n  "id": "demo"\n  "name": "N"\n}')
        self.printed.clear()
        message = "manifest_invalid: plugin.json:3:3 expected a comma"
        self.answer(refused(message))
        self.assertEqual(
            self.printed,
            [f"12:00:00 refused: {message}", '  plugin.json:3 "name": "N"'],
        )

    def test_what_cannot_be_sent(self):
        """A tree that can't be listed, or named, is reported, and watched on."""
        error = CommandError("git is needed")
        with mock.patch.object(module, "published", side_effect=error):
            self.look()
        self.assertEqual(self.printed[1:], ["12:00:00 not sent: git is needed"])
        with open(os.fsencode(self.tree) + b"/\xff.ts", "wb"):
            pass
        self.look()
        self.assertIn("not sent: the name of a file is not UTF-8", self.printed[2])
        self.assertEqual(self.sent(), [])
        os.unlink(os.fsencode(self.tree) + b"/\xff.ts")
        self.look()
        self.assertEqual(len(self.sent()), 1)

    def test_daemon_ends(self):
        """When the daemon ends, so does this, and reports why."""
        self.wire.loseConnection()
        self.assertTrue(self.reactor.hasStopped)
        self.assertEqual(self.session.failure, "the daemon has stopped")
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_daemon_reports_why(self):
        """The daemon's own last word is reported."""
        self.answer({"type": "close", "code": 1001, "reason": "shutdown"})
        self.assertEqual(self.session.failure, "the daemon is shutting down")

    def test_failure_of_the_daemon(self):
        """A failure that is none of the tree's is reported, and it goes on."""
        self.printed.clear()
        error = {"code": "internal", "message": "see the daemon's log"}
        self.answer({"type": "response", "id": "tree", "ok": False, "error": error})
        self.assertEqual(
            self.printed, ["12:00:00 refused: internal: see the daemon's log"]
        )

    def test_daemon_without_dev(self):
        """A daemon that links nothing is nobody to this command."""
        super().setUp()
        protocol = self.factory.buildProtocol(None)
        protocol.makeConnection(StringTransportWithDisconnection())
        self.protocol = protocol
        protocol.transport.protocol = protocol
        self.answer({"type": "welcome", "version": "1", "services": {}})
        self.assertEqual(self.session.failure, "nobody")

    def test_attack_other_daemon(self):
        """What is not of the protocol ends it."""
        for line in (b"x", b"[]", b'{"type":"linked"}', b'{"type":"response"}'):
            self.setUp()
            self.answer(line)
            self.assertEqual(self.session.failure, "the daemon has another version")

    def test_watching_breaks(self):
        """A defect of the watch ends it, instead of watching nothing."""
        with mock.patch.object(module, "published", side_effect=RuntimeError("x")):
            self.look()
        self.assertEqual(self.session.failure, "the tree cannot be watched: x")

    def test_ended_by_the_user(self):
        """Ctrl-C closes the connection, and is no failure."""
        self.session.end()
        self.assertFalse(self.wire.connected)
        self.assertEqual(self.session.failure, "")


class UnconnectedTests(SessionTestCase):
    """A session that never began."""

    def test_nobody_listens(self):
        """The socket of a daemon that was killed is nobody's."""
        self.factory.clientConnectionFailed(None, Failure(RefusedError()))
        self.assertEqual(self.session.failure, "nobody")
        self.assertTrue(self.reactor.hasStopped)

    def test_nothing_is_sent_before(self):
        """Before the daemon has answered nothing is sent."""
        self.assertFalse(self.session._send())
