"""Finding the daemon, what can go wrong on the way to it, and Ctrl-C."""

import io
import json
import os
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli import session
from bridge.cli.session import Session
from bridge.cli.terminal import ProgressLine
from bridge.protocol.errors import BridgeError
from bridge.settings.host import locate

from ..directories import planted
from .commandcase import Typed
from .commands.calls import WELCOME, Answering, CallCase
from .test_terminal import step


class Asking(Session):
    """A session whose daemon does what a test wants."""

    def __init__(self, err):
        place = locate("reference", None, None)
        super().__init__(place, mock.Mock(), mock.Mock(), False, ProgressLine(err))
        self.requested = []
        self.during: Callable[[str], object] = lambda ref: None

    def call(self, service, method, /, **params):
        """Let the test do something meanwhile, and answer."""
        self.during(params.get("ref"))
        return {"done": True}

    def request(self, service, method, params):
        self.requested.append((f"{service}/{method}", params))


class SessionTests(SynchronousTestCase):
    def setUp(self):
        self.err = io.StringIO()
        self.session = Asking(self.err)
        # A reactor that has run before has left its own.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def install(self, *during):
        """Install; each of these is called meanwhile with the operation's ref."""
        self.session.during = lambda ref: [each(ref) for each in during]
        return self.session.operate("install", url="u")

    def interrupt(self, _=None):
        signal.raise_signal(signal.SIGINT)

    def ours(self, ref):
        self.session.pushed("progress", step("Ours", ref=ref))

    def test_own_progress_only(self):
        """Steps of another page's operation are not shown."""

        def theirs(_):
            self.session.pushed("progress", step("Theirs", ref="other"))
            self.session.pushed("build", {})

        self.assertEqual(self.install(theirs, self.ours), {"done": True})
        self.assertEqual(self.err.getvalue(), "Ours\n")

    def test_interrupt_cancels(self):
        """The first Ctrl-C cancels exactly this operation; the second one leaves."""
        with self.assertRaises(KeyboardInterrupt):
            self.install(self.ours, self.interrupt, self.interrupt)
        cancel = ("plugins/cancel", {"operation": "op1"})
        self.assertEqual(self.session.requested, [cancel])
        self.assertIn("press Ctrl-C again to leave", self.err.getvalue())

    def test_interrupt_before_it_has_a_name(self):
        """A Ctrl-C before the daemon reports anything is not lost."""
        self.install(self.interrupt, self.ours, self.ours)
        cancel = ("plugins/cancel", {"operation": "op1"})
        self.assertEqual(self.session.requested, [cancel])

    def test_interrupt_too_late(self):
        """Once the daemon puts a plugin in place, that is said, and nothing is sent."""

        def building(ref):
            late = step("Building", ref=ref, cancellable=False)
            self.session.pushed("progress", late)

        self.assertEqual(self.install(building, self.interrupt), {"done": True})
        self.assertIn("it is too late to cancel; press", self.err.getvalue())
        self.assertEqual(self.session.requested, [])

    def test_nothing_begins_after_an_interrupt(self):
        """What would come after the operation is cancelled with it."""
        self.install(self.ours, self.interrupt)
        error = self.assertRaises(BridgeError, self.install, self.fail)
        self.assertEqual(error.message, "cancelled: the operation was cancelled")

    def test_interrupt_between_operations(self):
        """Without an operation Ctrl-C ends the command, as anywhere."""
        self.install()
        self.assertRaises(KeyboardInterrupt, self.interrupt)

    def test_end(self):
        """A bar goes with its session, and a terminal that can't erase it has none."""
        for term, end in (("dumb", "a\n"), ("xterm", "] a\r\x1b[K")):
            with (
                mock.patch.dict(os.environ, {"TERM": term}),
                mock.patch("sys.stderr", Typed()) as err,
                closing(Session(self.session.place, mock.Mock(), mock.Mock())) as found,
            ):
                found.progress.report(step("a"))
            self.assertEqual(err.getvalue()[-len(end) :], end)


class ClientTests(CallCase):
    command = "call"

    def assert_paired(self) -> None:
        self.assertEqual(self.call("state/list"), (0, "{}\n", ""))

    def why(self, status: int = 1) -> str:
        return self.failed(self.call("state/list"), status)

    def assert_no_daemon(self) -> str:
        """Check that no daemon is found, and that the message has the fix."""
        err = self.why(3)
        start = f"plugin-bridge run --dev --host reference --data-dir {self.data.root}"
        self.assertIn(start, err)
        return err

    def test_attack_address_of_the_configuration(self):
        """The token goes to the control socket, whatever the options name."""
        stranger = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        stranger.setblocking(False)
        port = stranger.getsockname()[1]
        self.data.address.write_text(f"127.0.0.1:{port}\n")
        with mock.patch.dict(os.environ, {"BRIDGE_LISTEN": f"127.0.0.1:{port}"}):
            self.assert_paired()
        self.assertRaises(BlockingIOError, stranger.accept)

    def test_starting(self):
        """So it is while the daemon does not listen yet, or has no token yet."""
        self.data.control_socket.rename(self.root / "aside")
        self.assertIn("cannot be reached", self.assert_no_daemon())
        where = "--host=reference", f"--data-dir={self.data.root}"
        status, shown, _ = self.run_main("status", *where)
        self.assertIn("daemon: running, but it cannot be reached\n", shown)
        self.assertEqual(status, 1)
        (self.root / "aside").rename(self.data.control_socket)
        self.data.token.unlink()
        err = self.why(3)
        self.assertIn("has no token: it is just starting", err)
        self.assertIn("create a token, run: plugin-bridge run --rotate-token -", err)

    def test_loopback_port(self):
        """Where there can be no Unix socket, a file has the port."""
        self.data.control_socket.unlink()
        listening = socket.create_server(("127.0.0.1", 0))
        self.server = Answering(listening)
        self.addCleanup(self.server.close)
        port = listening.getsockname()[1]
        self.data.control_socket.write_text(f"127.0.0.1:{port}\n")
        self.assert_paired()
        (hello,) = self.server.hellos
        self.assertEqual(hello["token"], self.token)

    def test_attack_link_in_its_place(self):
        """A link is no socket of this user, wherever it leads."""
        aside = self.root / "aside"
        self.data.control_socket.rename(aside)
        self.data.control_socket.symlink_to(aside)
        self.assertIn("is not a socket of your user", self.why())
        self.assertEqual(self.server.hellos, [])

    def test_attack_other_address_in_its_place(self):
        """No file leads a command away from this computer."""
        self.data.control_socket.unlink()
        for text in ("192.0.2.1:80\n", "127.0.0.1:80", "127.0.0.1:80\n\n", "x" * 99):
            self.data.control_socket.write_text(text)
            self.assertIn("is not a socket of your user", self.why())

    def test_without_dev(self):
        """A daemon without ``--dev`` has an error of its own; status 3."""
        self.server.welcome = {**WELCOME, "services": {}}
        self.assertIn("without --dev", self.assert_no_daemon())
        self.assertEqual(self.server.asked, [])

    def test_attack_taking_a_dead_daemons_place(self):
        """What listens where a daemon did, which was killed, never gets the token."""
        self.lock.release()
        self.assert_no_daemon()
        self.assertEqual(self.server.hellos, [])

    def test_attack_planted_socket(self):
        """A socket of another user gets no token."""
        planted(self, self.data.control_socket)
        self.why()
        self.assertEqual(self.server.hellos, [])

    def test_attack_lock_held_by_another_user(self):
        """In an open directory the lock proves nothing, so no token is sent."""
        self.data.root.chmod(0o755)
        self.assertIn(f"run: chmod 700 {self.data.root}", self.why())
        self.assertEqual(self.server.hellos, [])

    def test_unusable_token(self):
        """A token file that others can read is refused, as the daemon does."""
        self.data.token.chmod(0o644)
        self.assertIn("can be read by others", self.why())

    def test_closed(self):
        """A daemon that closes gives its reason."""
        for reason, shown in (
            ("unauthorized", "has another token"),
            ("shutdown", "is shutting down"),
            ("too_big\x1b[2J", "has closed the connection: too_big\n"),
        ):
            self.server.welcome = {"type": "close", "code": 1008, "reason": reason}
            self.assertIn(shown, self.why())

    def test_closed_while_it_is_sent_to(self):
        """So does one that closes before it has read all of a request."""
        close = {"type": "close", "code": 1009, "reason": "frame_too_large"}
        frames = [json.dumps(frame).encode() for frame in (WELCOME, close)]
        self.server.welcome, self.server.answer = b"\n".join(frames), None
        params = json.dumps({"value": "x" * 2**20})
        err = self.failed(self.call("state/set", "-", stdin=params), 1)
        self.assertIn("has closed the connection: frame_too_large", err)

    def test_hangs(self):
        """One that does not welcome is not waited for, for ever."""
        self.server.welcome = None
        self.patch(session, "CONNECT_SECONDS", 0.05)
        self.assertIn("does not answer", self.why())

    def test_another_version(self):
        """So is one whose frames mean nothing to this version."""
        for answer in (b"<html>", b"[]", {"ok": False, "error": {"code": "new"}}):
            self.server.answer = answer
            self.assertRegex(self.why(), "ended before it answered|has another version")
