"""One command that manages a daemon: progress, Ctrl-C, and how it ends."""

from __future__ import annotations

import io
import signal
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.connection import shows_prompts
from bridge.cli.session import ProgressLine, Session


class Daemon:
    """A connection whose daemon does what a test wants."""

    def __init__(self):
        self.asked = []
        self.requested = []
        self.pushed = None
        self.during = lambda ref: None

    def call(self, service, method, params):
        """Let the test do something meanwhile, and answer."""
        self.asked.append((f"{service}/{method}", params))
        self.during(params.get("ref"))
        return {"done": True}

    def request(self, service, method, params):
        """Note what nobody waits for."""
        self.requested.append((f"{service}/{method}", params))


def step(message, **more):
    """Make the data of a ``progress`` event."""
    return {"step": "clone", "message": message, "operation": "op1", **more}


class SessionTests(SynchronousTestCase):
    """Tests for ``Session``."""

    def setUp(self):
        """A session."""
        self.daemon: Any = Daemon()
        self.err = io.StringIO()
        progress = ProgressLine(self.err, terminal=False)
        daemon: Any = self.daemon
        # A reactor that has run before has left its own.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.session = Session(daemon, progress, json=False)

    def install(self, *during):
        """Install; each of these is called meanwhile with the operation's ref."""

        def all_of_it(ref):
            for each in during:
                each(ref)

        self.daemon.during = all_of_it
        return self.session.operate("install", url="u")

    def interrupt(self, _=None):
        """Press Ctrl-C."""
        signal.raise_signal(signal.SIGINT)

    def ours(self, ref):
        """Report a step of this operation."""
        self.daemon.pushed("progress", step("Ours", ref=ref))

    def test_own_progress_only(self):
        """Steps of another page's operation are not shown."""

        def theirs(_):
            self.daemon.pushed("progress", step("Theirs", ref="other"))
            self.daemon.pushed("build", {})

        self.assertEqual(self.install(theirs, self.ours), {"done": True})
        self.assertEqual(self.err.getvalue(), "Ours\n")

    def test_interrupt_cancels(self):
        """The first Ctrl-C cancels exactly this operation; the second one leaves."""
        with self.assertRaises(KeyboardInterrupt):
            self.install(self.ours, self.interrupt, self.interrupt)
        cancel = ("plugins/cancel", {"operation": "op1"})
        self.assertEqual(self.daemon.requested, [cancel])
        self.assertIn("press Ctrl-C again to leave", self.err.getvalue())

    def test_interrupt_before_it_has_a_name(self):
        """A Ctrl-C before the daemon reports anything is not lost."""
        self.install(self.interrupt, self.ours, self.ours)
        cancel = ("plugins/cancel", {"operation": "op1"})
        self.assertEqual(self.daemon.requested, [cancel])

    def test_interrupt_between_operations(self):
        """Without an operation Ctrl-C ends the command, as anywhere."""
        self.install()
        self.assertRaises(KeyboardInterrupt, self.interrupt)

    def test_interrupted_forget_key_of_two(self):
        """Ctrl-C leaves another's ``forget_key`` alone, which has no id either."""

        def steps(ref):
            alike = {"op": "forget_key", "id": None}
            other = step("Theirs", operation="op2", ref=None, **alike)
            self.daemon.pushed("progress", other)
            self.daemon.pushed("progress", step("Ours", ref=ref, **alike))
            self.interrupt()

        self.daemon.during = steps
        self.session.operate("forget_key", keyId="k")
        cancel = ("plugins/cancel", {"operation": "op1"})
        self.assertEqual(self.daemon.requested, [cancel])


class PromptTests(SynchronousTestCase):
    """Whether the user is asked to look at the desktop."""

    def test_shown(self):
        """Only a daemon that can ask does, and one with ``--dev`` approves itself."""
        for confirmation, others, shown in (
            ("notification, by dunst", [], True),
            ("none: no session bus", [], False),
            ("notification, by dunst", ["remote"], False),
        ):
            services: dict[str, Any] = {name: {} for name in others}
            services["plugins"] = {"confirmation": confirmation}
            self.assertIs(shows_prompts({"services": services}), shown)
