"""One command that manages a daemon: progress, Ctrl-C, and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.asking.client import NoDaemonError
from bridge.cli.managing.installed import check_installed, line_of, merged
from bridge.cli.managing.progress import ProgressLine
from bridge.cli.managing.session import Session, ended
from bridge.cli.terminal import CommandError
from bridge.protocol.errors import BridgeError, Code, Prefix, plugin_error


class Page:
    """A page's socket that answers what a test wants."""

    def __init__(self):
        self.asked = []
        self.answers = {}
        self.pushed = None

    async def call(self, service, method, params):
        """Answer; a Deferred is waited for."""
        self.asked.append((f"{service}/{method}", params))
        answer = self.answers[method]
        if isinstance(answer, Deferred):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer


class Reactor:
    """Counts how often it is stopped."""

    stops = 0

    def stop(self):
        """Count."""
        self.stops += 1


class SessionTests(SynchronousTestCase):
    """Tests for ``Session``."""

    def setUp(self):
        """A session whose installation takes long."""
        self.page: Any = Page()
        self.reactor, self.err = Reactor(), io.StringIO()
        progress = ProgressLine(self.err, terminal=False)
        page: Any = self.page
        self.session = Session(self.reactor, page, progress, json=False)
        self.install = self.page.answers["install"] = Deferred()

    def begin(self):
        """Begin to install; gives the Deferred, and the ref it has sent."""
        doing = Deferred.fromCoroutine(self.session.operate("install", url="u"))
        return doing, self.page.asked[0][1]["ref"]

    def entry(self, ref, **more):
        """Make an entry of ``operations``."""
        return {"operation": "op1", "op": "install", "id": None, "ref": ref, **more}

    def test_own_progress_only(self):
        """Steps of another page's operation are not shown."""
        doing, ref = self.begin()
        step = {"step": "clone", "message": "Theirs", "ref": "other"}
        self.page.pushed("progress", step)
        self.page.pushed("progress", {**step, "message": "Ours", "ref": ref})
        self.page.pushed("build", {})
        self.install.callback({"done": True})
        self.assertEqual(self.successResultOf(doing), {"done": True})
        self.assertEqual(self.err.getvalue(), "Ours\n")

    def test_interrupt_cancels(self):
        """The first Ctrl-C cancels exactly this operation; the second one leaves."""
        _, ref = self.begin()
        theirs = {**self.entry("other"), "operation": "op0"}
        ended_ = self.entry(ref, operation="op2", endedAt=1)
        listed = {"operations": [theirs, self.entry(ref), ended_]}
        self.page.answers |= {"operations": listed, "cancel": {}}
        self.session.interrupt()
        self.assertEqual(self.page.asked[-1], ("plugins/cancel", {"operation": "op1"}))
        self.assertEqual(len(self.page.asked), 3)
        self.assertEqual(self.reactor.stops, 0)
        self.session.interrupt()
        self.assertEqual(self.reactor.stops, 1)
        self.install.callback({})

    def test_interrupt_too_late(self):
        """What cannot be cancelled is waited for, and that is reported."""
        _, ref = self.begin()
        self.page.answers["operations"] = {"operations": [self.entry(ref)]}
        self.page.answers["cancel"] = plugin_error(Prefix.NOT_CANCELLABLE, "it ends")
        self.session.interrupt()
        self.assertIn("not cancelled: ", self.err.getvalue())
        self.assertEqual(self.reactor.stops, 0)
        self.install.callback({})

    def test_interrupt_between_operations(self):
        """Without an operation Ctrl-C ends the command."""
        self.session.interrupt()
        self.assertEqual(self.reactor.stops, 1)

    def test_operation_without_a_ref(self):
        """An uninstall is found by what it does, and to which plugin."""
        self.page.answers["uninstall"] = Deferred()
        Deferred.fromCoroutine(self.session.operate("uninstall", id="good"))
        step = {"step": "remove", "op": "uninstall", "message": "Theirs", "id": "x"}
        self.page.pushed("progress", step)
        self.page.pushed("progress", {**step, "id": "good", "message": "Ours"})
        self.assertEqual(self.err.getvalue(), "Ours\n")
        self.page.answers["uninstall"].callback({})


class EndTests(SynchronousTestCase):
    """Tests for ``ended``."""

    def outcome(self, error, as_json=False):
        """End with an error: the status, the output, and the error messages."""

        def run():
            raise error

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = ended("install", as_json, run)
        return status, out.getvalue(), err.getvalue()

    def test_statuses(self):
        """Each kind of end has its documented status."""
        refused = BridgeError(Code.UNAVAILABLE, "no")
        cancelled = plugin_error(Prefix.CANCELLED, "it was")
        for error, status in (
            (NoDaemonError("none"), 3),
            (CommandError("broken"), 1),
            (refused, 1),
            (cancelled, 130),
            (KeyboardInterrupt(), 130),
        ):
            self.assertEqual(self.outcome(error)[0], status)

    def test_json(self):
        """With ``--json`` the output has the code and the message of the wire."""
        error = plugin_error(Prefix.DENIED, "the user declined")
        _, out, err = self.outcome(error, as_json=True)
        expected = {"code": "bad_request", "message": "denied: the user declined"}
        self.assertEqual(json.loads(out), {"error": expected})
        self.assertTrue(err.startswith("plugin-bridge install: the prompt was"), err)


class InstalledTests(SynchronousTestCase):
    """Tests for what is listed."""

    def test_merged(self):
        """Only ``false`` switches off; what cannot be read is listed by its id."""
        listing = {
            "plugins": [{"id": "b"}, {"id": "a"}, {"id": "c"}],
            "broken": [{"id": "gone", "reason": "not_installed: its directory"}],
        }
        switches = {"enabled:a": False, "enabled:b": None, "enabled:c": True}
        found = merged(listing, switches)
        self.assertEqual([p["id"] for p in found], ["a", "b", "c", "gone"])
        self.assertEqual([p["enabled"] for p in found], [False, True, True, True])
        self.assertIn("not in the bundle: not_installed", line_of(found[-1]))

    def test_nearest(self):
        """The error has the nearest id, and never the one that was typed."""
        plugins = [{"id": "weather"}]
        check_installed("weather", plugins)
        near = self.assertRaises(CommandError, check_installed, "wether", plugins)
        self.assertIn("did you mean weather?", str(near))
        far = self.assertRaises(CommandError, check_installed, "zzz", plugins)
        self.assertNotIn("zzz", str(far))
