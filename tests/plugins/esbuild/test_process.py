"""Limits and ends of processes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.process import kill_group, limit_memory, settled
from bridge.protocol.limits import BUNDLER_MEMORY_BYTES, MIB


class ProcessCase(SynchronousTestCase):
    """A process of our own, in a session of its own."""

    def start(self, code: str) -> Any:
        """Run Python."""
        process = subprocess.Popen(
            [sys.executable, "-ISc", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


class MemoryTests(ProcessCase):
    """The limit on memory."""

    CODE = (
        "import resource; print(flush=True); input();"
        "print(resource.getrlimit(resource.RLIMIT_DATA));"
        "x = bytearray(128 << 20)"
    )

    def test_attack_process_that_takes_all_memory(self):
        """A limited process gets no more memory, though nothing of it was asked."""
        process = self.start(self.CODE)
        process.stdout.readline()
        limit_memory(process.pid, 96 * MIB)
        reported, _ = process.communicate("go\n")
        self.assertEqual(reported, f"({96 * MIB}, {96 * MIB})\n")
        self.assertEqual(process.returncode, 1)

    def test_default(self):
        """What is not asked for is the bundler's limit, and enough for small things."""
        process = self.start(self.CODE)
        process.stdout.readline()
        limit_memory(process.pid)
        reported, _ = process.communicate("go\n")
        self.assertEqual(
            reported, f"({BUNDLER_MEMORY_BYTES}, {BUNDLER_MEMORY_BYTES})\n"
        )
        self.assertEqual(process.returncode, 0)

    def test_a_lower_limit_stays(self):
        """What the system's administrator allows is not made more."""
        process = self.start(self.CODE)
        process.stdout.readline()
        limit_memory(process.pid, 64 * MIB)
        limit_memory(process.pid, 256 * MIB)
        self.assertEqual(
            resource.prlimit(process.pid, resource.RLIMIT_DATA), (64 * MIB, 64 * MIB)
        )

    def test_ended(self):
        """A process that is gone is no error."""
        process = self.start("")
        process.wait()
        limit_memory(process.pid)
        limit_memory(None)


class KillTests(ProcessCase):
    """The end of a group."""

    def test_attack_child_that_outlives_its_parent(self):
        """The process dies, and so does what it started."""
        code = (
            "import os, time\n"
            "if os.fork():\n    print(flush=True); time.sleep(600)\n"
            "else:\n    time.sleep(600)\n"
        )
        process = self.start(code)
        process.stdout.readline()
        asked: list[str] = []
        kill_group(process.pid, asked.append)
        self.assertEqual(process.wait(10), -signal.SIGKILL)
        self.assertEqual(asked, ["KILL"])
        # The child held the other end of this pipe.
        self.assertEqual(process.stdout.read(), "")

    def test_no_group(self):
        """A process that leads nothing yet is signalled by itself."""
        asked: list[str] = []
        process = self.start("input()")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kill_group(process.pid, asked.append)
        self.assertEqual(asked, ["KILL"])


class SettledTests(SynchronousTestCase):
    """Waiting for what can't be stopped at once."""

    def wait(self, work: Deferred[Any], stop=lambda: None) -> Deferred[Any]:
        """Wait for it."""
        return Deferred.fromCoroutine(settled(work, stop))

    def test_result(self):
        """A result or a failure is passed on."""
        self.assertEqual(self.successResultOf(self.wait(succeed(7))), 7)
        self.failureResultOf(self.wait(fail(ValueError())), ValueError)

    def test_cancelled(self):
        """Once cancelled, it asks for the end and waits for it."""
        work: Deferred[int] = Deferred()
        asked: list[int] = []
        waiting = self.wait(work, lambda: asked.append(1))
        waiting.cancel()
        self.assertNoResult(waiting)
        waiting.cancel()
        self.assertEqual(asked, [1, 1])
        work.callback(7)
        self.failureResultOf(waiting, CancelledError)

    def test_cancelled_and_failed(self):
        """A failure after that is of no interest."""
        work: Deferred[int] = Deferred()
        waiting = self.wait(work)
        waiting.cancel()
        work.errback(ValueError())
        self.failureResultOf(waiting, CancelledError)

    def test_ends_at_once_when_asked(self):
        """What ends as soon as it is asked is waited for no longer."""
        work: Deferred[int] = Deferred()
        waiting = self.wait(work, lambda: work.callback(1))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
