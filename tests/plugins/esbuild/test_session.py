"""Tests for bridge.plugins.esbuild.session."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from unittest import mock

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessTerminated
from twisted.internet.protocol import ProcessProtocol
from twisted.trial.unittest import TestCase

from bridge.plugins.esbuild import session

from ...directories import fresh_directory

# Whether it leads its session, its terminal, its directory, its environment, and the
# descriptors that it has; then it waits to be hung up.
PROGRAM = """
import os, sys
os.write(1, repr((
    os.getsid(0) == os.getpid(), os.ttyname(0) == os.ttyname(2), os.getcwd(),
    sorted(os.environ), sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
    os.tcgetpgrp(0) == os.getpid(),
)).encode() + b"\\n")
sys.stdin.read()
"""


class Run(ProcessProtocol):
    """What came of a process."""

    def __init__(self) -> None:
        """Wait for its first line, and its end."""
        self.line: Deferred[str] = Deferred()
        self.ended: Deferred[object] = Deferred()
        self.kept = b""

    def childDataReceived(self, childFD, data):
        """Keep what comes."""
        self.kept += data
        if b"\n" in self.kept and not self.line.called:
            self.line.callback(self.kept.decode())

    def processEnded(self, reason):
        """Note the end."""
        self.ended.callback(reason.value)


class SessionTests(TestCase):
    """Tests for ``start``."""

    def setUp(self):
        """Choose where it runs."""
        self.directory = fresh_directory(self)

    def start(self, *command):
        """Start a program."""
        run = Run()
        program = command or (sys.executable, "-SIc", PROGRAM)
        transport = session.start(
            reactor, run, program[0], list(program), str(self.directory)
        )
        return run, transport

    async def check(self):
        """Check all that a started process finds, and that it can be hung up."""
        inherited = os.open(os.devnull, os.O_RDONLY)
        os.set_inheritable(inherited, True)
        self.addCleanup(os.close, inherited)
        run, transport = self.start()
        found = eval(await run.line)  # noqa: S307 (of our own program)
        self.assertEqual(found[:2], (True, True))
        self.assertEqual(found[2], str(Path(self.directory).resolve()))
        self.assertLessEqual(set(found[3]), {"LC_CTYPE"})
        self.assertEqual((found[4], found[5]), ([0, 1, 2], True))
        transport.loseConnection()
        ended = await run.ended
        self.assertEqual(ended.signal, signal.SIGHUP)

    async def test_spawned(self):
        """It leads a session, has a terminal and nothing else, and ends with it."""
        before, cwd = os.getcwd(), mock.Mock(wraps=os.fork)
        with mock.patch.object(os, "fork", cwd):
            await self.check()
        cwd.assert_not_called()
        self.assertEqual(os.getcwd(), before)

    async def test_attack_ignored_signals(self):
        """It ignores no signal that this process does, such as the one that ends it."""
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        run, _ = self.start("/bin/grep", "SigIgn", "/proc/self/status")
        ignored = int((await run.line).removeprefix("SigIgn:"), 16)
        # Two signals are the C library's own.
        found = [n for n in signal.valid_signals() if ignored >> (n - 1) & 1]
        self.assertEqual(found, [])
        await run.ended

    async def test_forked(self):
        """Where nothing can be spawned, it is forked, and finds the same."""
        with mock.patch.object(session, "spawn", lambda *_: None):
            await self.check()

    async def test_cannot_be_started(self):
        """What is no program fails at once: by a status, or as its terminal closes."""
        run, _ = self.start("/nothing/here")
        self.assertIsInstance(await run.ended, ProcessTerminated)
