"""One command that manages a daemon: its progress, Ctrl-C, and how it ends."""

import io
import os
import signal
import termios
from typing import Any
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.session import ProgressLine, Session, session
from bridge.protocol.errors import BridgeError
from bridge.settings.options import locate

from .commandcase import Typed


class Daemon:
    """A connection whose daemon does what a test wants."""

    def __init__(self):
        self.requested = []
        self.pushed = None
        self.during = lambda ref: None

    def call(self, service, method, **params):
        """Let the test do something meanwhile, and answer."""
        self.during(params.get("ref"))
        return {"done": True}

    def request(self, service, method, params):
        self.requested.append((f"{service}/{method}", params))


def step(message, name="clone", **more):
    """Make the data of a ``progress`` event."""
    return {"step": name, "message": message, "operation": "op1", **more}


class SessionTests(SynchronousTestCase):
    def setUp(self):
        self.daemon: Any = Daemon()
        self.err = io.StringIO()
        progress = ProgressLine(self.err)
        daemon: Any = self.daemon
        # A reactor that has run before has left its own.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.session = Session(locate("reference", None, None), daemon, progress)

    def install(self, *during):
        """Install; each of these is called meanwhile with the operation's ref."""
        self.daemon.during = lambda ref: [each(ref) for each in during]
        return self.session.operate("install", url="u")

    def interrupt(self, _=None):
        signal.raise_signal(signal.SIGINT)

    def ours(self, ref):
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

    def test_interrupt_too_late(self):
        """Once the daemon puts a plugin in place, that is said, and nothing is sent."""

        def building(ref):
            late = step("Building", ref=ref, cancellable=False)
            self.daemon.pushed("progress", late)

        self.assertEqual(self.install(building, self.interrupt), {"done": True})
        self.assertIn("it is too late to cancel; press", self.err.getvalue())
        self.assertEqual(self.daemon.requested, [])

    def test_nothing_begins_after_an_interrupt(self):
        """What would come after the operation is cancelled with it."""
        self.install(self.ours, self.interrupt)
        error = self.assertRaises(BridgeError, self.install, self.fail)
        self.assertEqual(error.message, "cancelled: the operation was cancelled")

    def test_interrupt_between_operations(self):
        """Without an operation Ctrl-C ends the command, as anywhere."""
        self.install()
        self.assertRaises(KeyboardInterrupt, self.interrupt)


class ProgressTests(SynchronousTestCase):
    def setUp(self):
        self.patch(os, "environ", os.environ | {"TERM": "xterm", "NO_COLOR": "1"})

    def shown(self, terminal: bool, *steps: dict[str, str], prompts: bool = True):
        """Show steps; gives what was written."""
        out = Typed() if terminal else io.StringIO()
        line = ProgressLine(out, prompts)
        for data in steps:
            line.report(data)
        line.end()
        return out.getvalue()

    def test_lines(self):
        """Without a terminal each message is a line, once, without escapes."""
        unread = mock.Mock(write=mock.Mock(side_effect=BrokenPipeError))
        ProgressLine(unread).line("a")
        clone = step(name="clone", message="Cloning\x1b[31m")
        text = self.shown(False, clone, clone, step(name="build", message="Building"))
        self.assertEqual(text, "Cloning\nBuilding\n")

    def test_bar(self):
        """On a terminal a bar grows, never shrinks, and is removed at the end."""
        a, b = step(name="clone", message="a"), step(name="build", message="b")
        first, second, last = self.shown(True, a, b).split("\r\x1b[K")[1:]
        self.assertLess(first.count("#"), second.count("#"))
        self.assertEqual(second, f"[{'#' * 20}] b")
        self.assertEqual(last, "")
        self.assertEqual(self.shown(True, b, a).count("#"), 40)

    def test_colour(self):
        """Colours only when the user wants them."""
        moving = step(name="move", message="m")
        self.assertNotIn("\x1b[32m", self.shown(True, moving))
        os.environ["NO_COLOR"] = ""
        self.assertIn("\x1b[32m", self.shown(True, moving))

    def test_narrow(self):
        """A message never wraps: the bar could not be written over."""
        other_end, terminal = os.openpty()
        self.addCleanup(os.close, other_end)
        termios.tcsetwinsize(terminal, (10, 40))
        with open(terminal, "w") as err:
            ProgressLine(err).report(step("x" * 200))
        text = os.read(other_end, 4096).decode()
        self.assertLessEqual(max(map(len, text.split("\r\x1b[K"))), 40)

    def test_end(self):
        """A bar goes with its command, and a terminal that can't erase it has none."""
        for term, end in (("dumb", "a\n"), ("xterm", "] a\r\x1b[K")):
            with (
                mock.patch.dict(os.environ, {"TERM": term}),
                mock.patch("bridge.cli.session.connect"),
                mock.patch("sys.stderr", Typed()) as err,
                session(locate("reference", None, None)) as found,
            ):
                found.progress.report(step("a"))
            self.assertEqual(err.getvalue()[-len(end) :], end)

    def test_prompt(self):
        """A prompt asks the user to look at the desktop, however narrow the line is."""
        asking = step(name="awaiting_confirmation", message="Asking")
        where = {True: "Answer the prompt on your desktop", False: "No prompt is shown"}
        for prompts in where:
            found = self.shown(False, asking, prompts=prompts)
            self.assertEqual(found, f"{where[prompts]}: Asking\n")
        with mock.patch.dict(os.environ, {"COLUMNS": "60", "LINES": "10"}):
            self.assertIn("Answer the prompt on your desktop", self.shown(True, asking))
