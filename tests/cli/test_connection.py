"""Finding the daemon, and what can go wrong on the way to it."""

import json
import os
import socket
from unittest import mock

from bridge.cli import connection

from ..directories import planted
from .commands.calls import WELCOME, Answering, CallCase


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
        self.patch(connection, "CONNECT_SECONDS", 0.05)
        self.assertIn("does not answer", self.why())

    def test_another_version(self):
        """So is one whose frames mean nothing to this version."""
        for answer in (b"<html>", b"[]", {"ok": False, "error": {"code": "new"}}):
            self.server.answer = answer
            self.assertRegex(self.why(), "ended before it answered|has another version")
