"""Finding the daemon, and what can go wrong on the way to it."""

from __future__ import annotations

import os
import socket
from unittest import mock

from bridge.cli.asking.client import ended
from bridge.cli.commands.call import main

from ...directories import planted
from ..commands.calls import CallCase


class ClientTests(CallCase):
    """Calls, by the command ``call``."""

    main = staticmethod(main)

    def outcome(self, *arguments: str) -> tuple[int, str]:
        """Call something: the exit status, and the error message."""
        status, _, err = self.run_main(*arguments, "state", "list")
        return status, err

    def test_found_by_the_data_directory(self):
        """The daemon of the data directory is called, wherever it listens."""
        self.assertEqual(self.outcome(), (0, ""))

    def test_found_by_address(self):
        """``--listen``, or its variable, is where it listens; port 0 names none."""
        self.data.address.write_text("127.0.0.1:1\n")
        self.assertEqual(self.outcome(f"--listen={self.address}")[0], 0)
        with mock.patch.dict(os.environ, {"BRIDGE_LISTEN": self.address}):
            self.assertEqual(self.outcome()[0], 0)
        self.data.address.write_text(f"{self.address}\n")
        with mock.patch.dict(os.environ, {"BRIDGE_LISTEN": "127.0.0.1:0"}):
            self.assertEqual(self.outcome()[0], 0)

    def test_no_proxy(self):
        """A proxy in the environment plays no part."""
        proxy = {"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"}
        with mock.patch.dict(os.environ, proxy):
            self.assertEqual(self.outcome()[0], 0)

    def assert_no_daemon(self, *arguments: str) -> str:
        """Check that no daemon is found, and that the message has the fix."""
        status, err = self.outcome(*arguments)
        self.assertEqual(status, 3)
        self.assertEqual(err.count("\n"), 1)
        start = f"plugin-bridge run --dev --host reference --data-dir {self.data.root}"
        self.assertIn(start, err)
        return err

    def test_no_daemon(self):
        """A missing daemon or data directory is reported; the status is 3."""
        self.lock.release()
        self.assertIn("no daemon uses", self.assert_no_daemon())
        self.data.lock.unlink()
        self.assertIn("no daemon uses", self.assert_no_daemon())

    def test_starting(self):
        """So it is while the daemon does not listen yet, or has no token yet."""
        self.data.address.unlink()
        self.assert_no_daemon()
        self.data.address.write_text("nonsense\n")
        self.assert_no_daemon()
        self.data.address.write_text(f"{self.address}\n")
        self.data.token.unlink()
        status, err = self.outcome()
        self.assertEqual((status, err.count("\n")), (3, 1))
        self.assertIn("has no token: it is just starting", err)
        where = f"--host reference --data-dir {self.data.root}"
        self.assertIn(
            f"to create a token, run: plugin-bridge run --rotate-token {where}", err
        )

    def test_nothing_listens(self):
        """A port nobody listens on is reported."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        address = f"127.0.0.1:{port}"
        error = self.assert_no_daemon(f"--listen={address}")
        self.assertIn("no daemon listens on", error)

    def test_without_dev(self):
        """A daemon without ``--dev`` has an error of its own; status 3."""
        self.refusing(404, "not_found", "calls by HTTP need --dev")
        self.assertIn("without --dev", self.assert_no_daemon())

    def test_attack_taking_a_dead_daemons_port(self):
        """What listens where a daemon did, which was killed, never gets the token."""
        self.lock.release()
        self.assert_no_daemon()
        self.assert_no_daemon(f"--listen={self.address}")
        self.assertEqual(self.server.asked, [])

    def test_attack_planted_address(self):
        """An address that another user wrote gets no token."""
        planted(self, self.data.address)
        self.assert_no_daemon()
        self.assertEqual(self.server.asked, [])

    def test_attack_lock_held_by_another_user(self):
        """In an open directory the lock proves nothing, so no token is sent."""
        self.data.root.chmod(0o755)
        status, err = self.outcome(f"--listen={self.address}")
        self.assertEqual(status, 1)
        self.assertIn(f"run: chmod 700 {self.data.root}", err)
        self.assertEqual(self.server.asked, [])

    def test_unusable_token(self):
        """A token file that others can read is refused, as the daemon does."""
        self.data.token.chmod(0o644)
        status, err = self.outcome()
        self.assertEqual(status, 1)
        self.assertIn("can be read by others", err)

    def test_ended(self):
        """A daemon that ends before it answers is reported."""
        self.answering(0, None)
        status, err = self.outcome()
        self.assertEqual(status, 1)
        self.assertIn("ended before it answered", err)

    def test_another_program(self):
        """So is what answers, but not as a daemon does."""
        for code, body in ((200, b"<html>"), (400, {"error": 1}), (500, [])):
            self.answering(code, body)
            status, err = self.outcome()
            self.assertEqual(status, 1)
            self.assertRegex(err, "is not plugin-bridge|has another version")

    def test_interrupted(self):
        """Ctrl-C ends it without a traceback."""

        def interrupted() -> int:
            raise KeyboardInterrupt

        status, _, err = self.run_command(lambda: ended("call", interrupted))
        self.assertEqual((status, err), (130, "\n"))
