from typing import Any

from twisted.internet.defer import fail
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import TestCase

from bridge.concurrency.threads import NO_THREAD, Pool
from bridge.pagelog.pagefile import PageFile
from bridge.pagelog.writer import LogWriter
from bridge.protocol.errors import BridgeError, Code, unavailable
from bridge.protocol.limits import LOG_UNWRITTEN_BYTES, MIB
from tests.directories import fresh_directory

from ..reactors import reactor


class WriterTests(TestCase):
    def setUp(self) -> None:
        self.path = fresh_directory(self) / "logs" / "plugins.log"
        pool = Pool(reactor, "logs", 1)
        pool.start()
        self.addCleanup(pool.stop)
        self.file = PageFile.open(self.path, 100 * MIB)
        self.writer = LogWriter(self.file, pool.call)
        self.addCleanup(self.writer.close)

    async def test_in_order(self) -> None:
        """Lines are written in order, all that were accepted before the end."""
        for number in range(500):
            written = self.writer.write(b"%d\n" % number)
        closed = self.writer.close()
        late: Any = await self.assertFailure(self.writer.write(b"late\n"), BridgeError)
        self.assertIs(late.code, Code.UNAVAILABLE)
        await written
        await closed
        await self.writer.close()
        self.writer.reopen()
        lines = b"".join(b"%d\n" % number for number in range(500))
        self.assertEqual(self.path.read_bytes(), lines)
        self.assertEqual(self.file.size, len(lines))

    async def test_overloaded(self) -> None:
        """When too much waits, more is refused until it is written."""
        line = b"x" * (LOG_UNWRITTEN_BYTES // 2) + b"\n"
        taken = [self.writer.write(line) for _ in range(2)]
        self.assertTrue(self.writer.overloaded)
        late: Any = await self.assertFailure(self.writer.write(b"late\n"), BridgeError)
        self.assertIs(late.code, Code.UNAVAILABLE)
        for write in taken:
            await write
        self.assertFalse(self.writer.overloaded)
        await self.writer.write(b"again\n")

    async def test_no_thread(self) -> None:
        """Where no thread can be had, that is what is answered."""
        writer = LogWriter(self.file, lambda *_: fail(unavailable(NO_THREAD)))
        error: Any = await self.assertFailure(writer.write(b"x\n"), BridgeError)
        self.assertEqual((error.code, error.message), (Code.UNAVAILABLE, NO_THREAD))
        self.assertFalse(writer.overloaded)

    async def test_failing_to_rotate(self) -> None:
        """A file that can't be renamed is warned of once."""
        self.file._max_bytes = 1
        self.file.older.mkdir()
        with capturedLogs() as logged:
            for _ in range(4):
                await self.writer.write(b"0\n")
        (line,) = map(formatEvent, logged)
        self.assertIn("cannot be rotated, and will lose lines: Is a directory", line)

    async def test_failing_to_reopen(self) -> None:
        """A file that can't be reopened is logged; lines are written while they can."""
        with capturedLogs() as logged:
            self.path.unlink()
            self.path.mkdir()
            lost: Any = await self.assertFailure(self.writer.write(b"1\n"), BridgeError)
            self.assertIn("could not be written: it was removed", lost.message)
            self.path.rmdir()
            await self.writer.write(b"1\n")
            self.path.rename(self.path.with_name("moved"))
            self.path.mkdir()
            for reopen in (lambda: None, self.writer.reopen):
                reopen()
                for _ in range(2):
                    await self.writer.write(b"0\n")
        words = ["the page's log goes on in its former file"] * 2
        self.assertEqual([formatEvent(event) for event in logged], words)
        self.path.rmdir()
        in_thread = self.writer._in_thread
        self.writer._in_thread = lambda *_: fail(OSError(9, "Bad file descriptor"))
        self.writer.reopen()
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.writer._in_thread = in_thread
        await self.writer.write(b"1\n")
