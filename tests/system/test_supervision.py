import os
import socket
import tempfile
from unittest.mock import patch

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.main import main
from bridge.system.supervision import Supervisor, report_failure

from ..directories import fresh_directory


class SupervisorTests(SynchronousTestCase):
    """Tests for notifying a supervisor, which is a socket here."""

    def setUp(self) -> None:
        self.path = str(fresh_directory(self) / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.clock = Clock()

    def received(self) -> list[str]:
        """Return what was received since the last call."""
        messages = []
        while True:
            try:
                messages.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return messages

    def find(self, **environ: str) -> Supervisor:
        return Supervisor.find({"NOTIFY_SOCKET": self.path, **environ}, 7)

    def test_failed(self) -> None:
        """The reason is one line, or the rest would be another message; an error."""
        with (
            tempfile.TemporaryFile("w+") as stream,
            patch("sys.stderr", stream),
            patch.dict(os.environ, {"NOTIFY_SOCKET": self.path}),
        ):
            found = os.fstat(stream.fileno())
            os.environ["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
            for words, program in (
                (["config", "--log=x"], "plugin-bridge"),  # starts no daemon
                (["run", "--log=x"], "plugin-bridge"),
                (["--log=x"], "vrcnext-bridge"),
            ):
                self.assertRaises(SystemExit, main, words, program)
            report_failure("no\nREADY=1", self.find().address)
            stream.seek(0)
            _, option, same, reason, _ = stream.read().splitlines()
        self.assertEqual(reason, "<3>plugin-bridge: no")
        self.assertIn("<3>plugin-bridge: --log: ", option)
        expected = (option, same, "no READY=1")
        told = [one.replace("<3>plugin-bridge: ", "") for one in expected]
        starts = [f"STATUS=could not start: {one}" for one in told]
        self.assertEqual(self.received(), starts)

    def test_alive(self) -> None:
        """A sign of life is sent twice in each interval."""
        supervisor = self.find(WATCHDOG_USEC="20000000", WATCHDOG_PID="7")
        supervisor.ready("", self.clock)
        self.received()
        self.clock.pump([9.0, 1.5])
        self.assertEqual(self.received(), ["WATCHDOG=1"])
        supervisor.close()
        self.clock.advance(60.0)
        self.assertEqual(self.received(), [])

    def test_not_watched(self) -> None:
        """A watchdog for another process, or without an interval, is not fed."""
        for environ in (
            {"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "8"},
            {"WATCHDOG_USEC": "soon"},
            {"WATCHDOG_PID": "7"},
        ):
            supervisor = self.find(**environ)
            supervisor.ready("", self.clock)
            self.assertEqual(len(self.received()), 1)
            self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_taken_from_the_environment(self) -> None:
        """No child inherits what names the supervisor."""
        environ = {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "7"}
        Supervisor.find(environ, 7)
        self.assertEqual(environ, {})

    def test_abstract_address(self) -> None:
        """A name in the abstract namespace works too."""
        name = f"plugin-bridge-test-{id(self)}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind("\0" + name)
            Supervisor.find({"NOTIFY_SOCKET": "@" + name}, 7).stopping()
            self.assertEqual(listener.recv(100), b"STOPPING=1")

    def test_nobody(self) -> None:
        """Without a supervisor, or with one that is gone, nothing happens."""
        for address in ("", "relative", self.path + "-gone"):
            supervisor = Supervisor.find({"NOTIFY_SOCKET": address}, 7)
            supervisor.ready("", self.clock)
            supervisor.stopping()
            supervisor.close()
        self.assertEqual(self.received(), [])
