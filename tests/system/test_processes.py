import ctypes
import linecache
import os
import socket
import tempfile
from unittest.mock import patch

from attrs import define
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.main import main
from bridge.system import processes
from bridge.system.processes import Supervisor, report_failure

from ..directories import fresh_directory
from ..programs import python

PROGRAM = """
import re
from pathlib import Path
from bridge.system.processes import map_large_blocks

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

if %r:
    map_large_blocks()
bytearray(30 * 2**20)
holes = [bytearray(b"x") * 5000 for _ in range(1000)]
before, kept = resident(), []
for _ in range(8):
    large = bytearray(b"x") * (8 * 2**20)
    kept.append(bytearray(b"x") * 5000)
    kept.append(large)
del kept[1::2], large
print((resident() - before) // 1024)
"""

FAULTS = """
import resource
from bridge.system.processes import map_large_blocks

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if %r:
    map_large_blocks()
before = faults()
for _ in range(50):
    kept = [bytearray(b"x") * 65536 for _ in range(16)]
    del kept
print(faults() - before)
"""


class LargeBlocksTests(SynchronousTestCase):
    def printed(self, program: str, *, mapped: bool) -> int:
        """Return the number that a program prints."""
        done = python("-c", program % mapped)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def test_returned(self) -> None:
        """Of 64 MiB that are freed most is returned, though small blocks came later."""
        self.assertLess(self.printed(PROGRAM, mapped=True), 8)
        # Otherwise this would test nothing.
        self.assertGreater(self.printed(PROGRAM, mapped=False), 40)

    def test_kept(self) -> None:
        """A megabyte of smaller blocks is used again, and not returned in between."""
        once, again = (self.printed(FAULTS, mapped=mapped) for mapped in (True, False))
        self.assertLess(4 * once, again)

    def test_another_library(self) -> None:
        """Without the function, and on other systems, nothing happens."""
        for platform, library in (("linux", lambda _: object()), ("darwin", None)):
            self.patch(processes.sys, "platform", platform)
            self.patch(ctypes, "CDLL", library)
            processes.map_large_blocks()
            processes.trim()


class TrimTests(SynchronousTestCase):
    def test_sources(self) -> None:
        """The sources of what attrs generates are kept no longer."""
        define(type("Loaded", (), {"__annotations__": {"a": int}}))
        self.assertTrue([name for name in linecache.cache if "Loaded" in name])
        processes.trim()
        self.assertEqual([name for name in linecache.cache if "Loaded" in name], [])


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
