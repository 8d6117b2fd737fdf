"""Tests for bridge.pagelog.writer."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.pagelog.pagefile import PageFile
from bridge.pagelog.writer import LogWriter
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import LOG_UNWRITTEN_BYTES, MIB
from tests.directories import fresh_directory
from tests.store.test_store import Turnstile


class WriterTests(SynchronousTestCase):
    """Tests for a writer whose writes happen when the test lets them."""

    def setUp(self) -> None:
        """Open a file."""
        self.path = fresh_directory(self) / "logs" / "plugins.log"
        self.thread = Turnstile()
        file = PageFile.open(self.path, 100 * MIB)
        self.writer = LogWriter(file, self.thread)

    def tearDown(self) -> None:
        """Close the file."""
        closed = self.writer.close()
        while self.thread.waiting:
            self.thread.let_through()
        self.successResultOf(closed)

    def test_in_order(self) -> None:
        """Lines that come while a write runs share the next one, in order."""
        writes = [self.writer.write(b"%d\n" % number) for number in range(5)]
        self.assertNoResult(writes[0])
        self.thread.let_through()
        self.successResultOf(writes[0])
        self.assertNoResult(writes[1])
        self.thread.let_through()
        for write in writes[1:]:
            self.successResultOf(write)
        self.assertEqual(self.path.read_bytes(), b"0\n1\n2\n3\n4\n")
        self.assertEqual(self.thread.passed, 2)

    def test_overloaded(self) -> None:
        """When too much waits, more is refused until it is written."""
        line = b"x" * (LOG_UNWRITTEN_BYTES // 2) + b"\n"
        taken = [self.writer.write(line) for _ in range(2)]
        self.assertTrue(self.writer.overloaded)
        late = self.failureResultOf(self.writer.write(b"late\n"), BridgeError)
        self.assertIs(late.value.code, Code.UNAVAILABLE)
        self.thread.let_through()
        self.thread.let_through()
        for write in taken:
            self.successResultOf(write)
        self.assertFalse(self.writer.overloaded)
        self.writer.write(b"again\n")

    def test_failed_write(self) -> None:
        """A failed write is reported to its callers; the next one is tried."""
        failed, later = self.writer.write(b"1\n"), self.writer.write(b"2\n")
        [(done, _)] = self.thread.waiting
        self.thread.waiting.clear()
        done.errback(OSError(28, "No space left on device"))
        error = self.failureResultOf(failed, BridgeError).value
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertEqual(
            error.message, "the log file could not be written: No space left on device"
        )
        self.thread.let_through()
        self.successResultOf(later)
        self.assertEqual(self.path.read_bytes(), b"2\n")

    def test_closed(self) -> None:
        """Closing writes what was taken, and takes no more."""
        write = self.writer.write(b"1\n")
        closed = self.writer.close()
        self.assertNoResult(closed)
        self.failureResultOf(self.writer.write(b"2\n"), BridgeError)
        self.thread.let_through()
        self.successResultOf(write)
        self.successResultOf(closed)
        self.successResultOf(self.writer.close())
        self.assertEqual(self.path.read_bytes(), b"1\n")

    def test_reopened(self) -> None:
        """A file that was moved away is left, and one of its name begun."""
        self.writer.write(b"old\n")
        self.thread.let_through()
        moved = self.path.with_name("moved")
        self.path.rename(moved)
        self.writer.reopen()
        self.thread.let_through()
        self.assertEqual((self.path.read_bytes(), moved.read_bytes()), (b"", b"old\n"))
        self.writer.close()
        self.writer.reopen()
        self.assertEqual(self.thread.waiting, [])

    def test_reopened_during_a_write(self) -> None:
        """It is reopened when the write has ended, and before the file is closed."""
        self.writer.write(b"1\n")
        self.writer.reopen()
        written = self.writer.write(b"2\n")
        closed = self.writer.close()
        for _ in range(3):
            self.assertNoResult(closed)
            self.thread.let_through()
        self.successResultOf(written)
        self.successResultOf(closed)

    def test_failing_to_reopen(self) -> None:
        """A file that can't be reopened is logged; lines are written as before."""
        self.writer.reopen()
        written = self.writer.write(b"1\n")
        [(done, _)] = self.thread.waiting
        self.thread.waiting.clear()
        done.errback(OSError(9, "Bad file descriptor"))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.thread.let_through()
        self.successResultOf(written)

    def test_write_from_a_callback(self) -> None:
        """Lines may be written where others are answered."""
        second: list[Deferred[None]] = []
        first = self.writer.write(b"1\n")
        first.addCallback(lambda _: second.append(self.writer.write(b"2\n")))
        self.thread.let_through()
        self.thread.let_through()
        self.successResultOf(second[0])
