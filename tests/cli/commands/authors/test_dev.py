"""``plugin-bridge dev``; ``tests/whole/test_dev.py`` runs it against a daemon."""

from __future__ import annotations

import socket
from unittest import mock

from twisted.internet.testing import MemoryReactorClock

from bridge.datadir.control import control_address
from bridge.datadir.paths import DataDir
from bridge.datadir.token import PairingToken
from bridge.system.locks import acquire

from ....directories import planted
from ...commandcase import CommandTestCase


class CommandTests(CommandTestCase):
    """The command around it."""

    def dev(self, *arguments, on=None):
        """Run it."""
        where = ["--host=reference", f"--data-dir={self.root}"]
        reactor = on or MemoryReactorClock()
        with mock.patch("twisted.internet.reactor", reactor, create=True):
            return self.run_main("dev", *where, *arguments)

    def assert_failed(self, words, *arguments, on=None):
        """It ends with one line."""
        status, out, err = self.dev(*arguments, on=on)
        self.assertEqual((status, out), (1, ""))
        self.assertIn(words, err)
        self.assertEqual(err.count("\n"), 1)

    def test_no_directory(self):
        """A missing directory is reported."""
        self.assert_failed("there is no directory", str(self.root / "no"))

    def test_no_daemon(self):
        """Without a daemon in developer mode, the start command is reported."""
        self.assert_failed(
            f"run: plugin-bridge run --dev --host reference --data-dir {self.root}\n",
            str(self.root),
        )

    def be_a_daemon(self):
        """Hold the lock and have a token, as a daemon does."""
        data = DataDir(self.root)
        data.create()
        PairingToken.load_or_create(data.token)
        self.addCleanup(acquire(data.lock).release)
        return data.control_socket

    def test_attack_link_in_place_of_the_socket(self):
        """A path that is no socket of this user is not connected to."""
        path = self.be_a_daemon()
        path.symlink_to("/run/docker.sock")
        self.assert_failed("not a socket of your user", str(self.root))
        path.unlink()
        listening = socket.socket(socket.AF_UNIX)
        self.addCleanup(listening.close)
        listening.bind(str(path))
        self.assertEqual(control_address(path), str(path))
        planted(self, path)
        self.assert_failed("not a socket of your user", str(self.root))

    def test_run(self):
        """It connects when the reactor runs; what the reactor ends is no failure."""
        listening = socket.socket(socket.AF_UNIX)
        self.addCleanup(listening.close)
        listening.bind(str(self.be_a_daemon()))
        reactor = MemoryReactorClock()
        status, _, err = self.dev(str(self.root), on=reactor)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(len(reactor.unixClients), 1)

    def test_port(self):
        """A port is a number; a wrong one is reported before anything begins."""
        for port in ("x", "65536", "-1"):
            status, _, err = self.dev(f"--page-port={port}", str(self.root))
            self.assertEqual(status, 2)
            self.assertIn("--page-port: must be a whole number", err)
