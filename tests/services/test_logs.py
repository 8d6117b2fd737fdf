import time
from typing import Any

from twisted.internet.defer import Deferred, execute, fail
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import TestCase

from bridge.concurrency.threads import NO_THREAD, Pool
from bridge.pagelog.pagefile import PageFile
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code, unavailable
from bridge.services.logs import Logs, WriteParams
from tests.directories import fresh_directory

from ..reactors import reactor
from .case import ServiceCase

GOOD = {"level": "info", "scope": "a", "message": "m", "ts": 0}


def full(f: Any, *args: Any) -> Deferred[Any]:
    """Call what writes nothing; the disk is full."""
    return fail(OSError(28, "full")) if args else execute(f)


class LogsCase(ServiceCase):
    service = "logs"

    def setUp(self) -> None:
        self.path = fresh_directory(self) / "logs" / "plugins.log"
        self.clock = Clock()
        self._events = self.enterContext(capturedLogs())
        self.serve(execute)

    def serve(self, in_thread: Any) -> None:
        """Open the file, and what writes it; both are closed when the test ends."""
        file = in_thread and PageFile.open(self.path, 10**9)
        self.logs = Logs(file, in_thread, self.clock, time.time, lambda: ["s3cret"])
        self.addCleanup(self.logs.close)
        self.register(self.logs)

    @property
    def reported(self) -> list[str]:
        own = Logs._log.namespace
        return [formatEvent(e) for e in self._events if e["log_namespace"] == own]


class MethodTests(LogsCase):
    def test_disabled(self) -> None:
        """Without capture, records are taken and dropped."""
        self.serve(None)
        self.assertEqual(self.call("write", records=[GOOD]), {"ok": True, "written": 0})
        self.assertEqual(
            self.call("info"), {"ok": True, "location": "disabled", "bytes": 0}
        )
        self.logs.frame([GOOD])
        self.assertFalse(self.logs.overloaded)
        described = self.registry.describe()["logs"]
        self.assertEqual(described["location"], "disabled")
        self.logs.close()

    def test_close(self) -> None:
        """It waits for the thread that writes."""
        written: Deferred[None] = Deferred()
        self.serve(lambda *_: written)
        closing = self.logs.close()
        self.assertNoResult(closing)
        written.callback(None)
        self.successResultOf(closing)

    def test_full_disk(self) -> None:
        """A batch that cannot be written is internal; an empty one is not written."""
        self.serve(full)
        self.assertEqual(self.call("write", records=[]), {"ok": True, "written": 0})
        error = self.refused("write", records=[GOOD])
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertEqual(error.message, "the log file could not be written: full")

    def test_attack_many_at_once(self) -> None:
        """A batch of more than 200 is refused as a whole."""
        error = self.refused("write", records=[GOOD] * 201)
        self.assertEqual(error.message, "records: at most 200 entries")
        self.assertEqual(self.path.read_bytes(), b"")

    def test_attack_faster_than_written(self) -> None:
        """When too much waits to be written more is refused, or dropped."""
        self.patch(limits, "LOG_UNWRITTEN_BYTES", -1)
        self.assertTrue(self.logs.overloaded)
        self.assertEqual(self.refused("write", records=[GOOD]).code, Code.UNAVAILABLE)
        self.logs.frame([GOOD] * 3)
        self.assertRegex(self.reported[0], "dropped 3 .* faster than they can be")
        self.assertEqual(self.path.read_bytes(), b"")

    def test_secret(self) -> None:
        """A secret in a page's record is not in the file."""
        for before in ("", "x"):
            scope = before * (limits.LOG_SCOPE_CHARACTERS - 3) + "s3cret"
            message = before * (limits.LOG_MESSAGE_CHARACTERS - 3) + "s3c\x00ret"
            self.call("write", records=[{**GOOD, "scope": scope, "message": message}])
        # Nor is its beginning, where the line is cut.
        self.assertNotIn(b"s3c", self.path.read_bytes())


class FrameTests(LogsCase):
    def test_logged_once_a_second(self) -> None:
        """What was dropped is logged at most once a second."""
        for _ in range(5):
            self.logs.frame([None, None])
        self.assertEqual(self.counted(), [2])
        self.clock.advance(1)
        self.logs.frame("nothing")
        self.assertEqual(self.counted(), [2, 8])
        self.clock.advance(1)
        self.assertEqual(self.counted(), [2, 8, 1])
        self.clock.advance(1)
        for number in (3, 4):
            self.logs.frame([None] * number)
        self.assertEqual(self.counted(), [2, 8, 1, 3])
        self.logs.close()
        self.assertEqual(self.counted(), [2, 8, 1, 3, 4])
        # Each reason has its own number.
        self.logs.drop(3, "too fast")
        self.logs.drop(2, "too fast")
        self.logs.frame([None])
        self.logs.close()
        numbers = [int(line.split()[1]) for line in self.reported[5:]]
        self.assertEqual((len(numbers), sum(numbers)), (2 + 1, 6))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def counted(self) -> list[int]:
        """Return the numbers in what the daemon logged."""
        words = "dropped {} log records of the page: they break a rule"
        counts = [int(line.split()[1]) for line in self.reported]
        self.assertEqual(self.reported, list(map(words.format, counts)))
        return counts


class ScopeTests(LogsCase):
    def write(self, scope: str, count: int) -> int:
        """Write so many records, and return how many were written."""
        record = {**GOOD, "scope": scope}
        written = 0
        for start in range(0, count, limits.LOG_RECORDS):
            records = [record] * min(limits.LOG_RECORDS, count - start)
            written += self.call("write", records=records)["written"]
        return written

    def test_attack_one_scope_floods(self) -> None:
        """It writes 500 lines and then 50 a second; others write all of theirs."""
        self.assertEqual(self.write("plugin:a", 700), 500)
        self.assertEqual(self.write("plugin:b", 100), 100)
        self.clock.advance(2)
        self.assertEqual(self.write("plugin:a", 700), 100)
        self.assertEqual(self.write("host", 20), 20)
        dropped = [line for line in self.reported if "over 50 a second" in line]
        self.assertEqual([int(line.split()[1]) for line in dropped], [100, 100])
        self.assertEqual(self.path.read_bytes().count(b"[plugin:a]"), 600)

    def test_attack_any_number_of_scopes(self) -> None:
        """Scopes beyond 256 share one budget until others have been quiet."""
        for number in range(limits.LOG_SCOPES):
            self.write(f"s{number}", 1)
        self.assertEqual(self.write("late", 400) + self.write("later", 400), 500)
        self.assertLessEqual(len(self.logs._budgets), limits.LOG_SCOPES + 1)
        self.clock.advance(60)
        self.assertEqual(self.write("new", 400) + self.write("newer", 400), 800)
        self.assertLessEqual(len(self.logs._budgets), 3)


class WrittenTests(TestCase):
    """Tests for what the thread that writes makes of the lines."""

    def setUp(self) -> None:
        self.path = fresh_directory(self) / "logs" / "plugins.log"
        pool = Pool(reactor, "logs", 1)
        pool.start()
        self.addCleanup(pool.stop)
        self.file = PageFile.open(self.path, 100 * limits.MIB)
        self.logs = Logs(self.file, pool.call, Clock(), lambda: 0.0)
        self.addCleanup(self.logs.close)

    def write(self, message: str = "x") -> Deferred[Any]:
        """Begin to write one record."""
        params = WriteParams([{"level": "info", "message": message}])
        writing: Any = self.logs.write(params)
        return Deferred.fromCoroutine(writing)

    async def lost(self) -> BridgeError:
        """Return what a record is refused with."""
        return await self.assertFailure(self.write(), BridgeError)

    async def test_in_order(self) -> None:
        """Lines are written in order, all that were accepted before the end."""
        for number in range(499):
            written = self.write(str(number))
        closed = self.logs.close()
        self.assertIs((await self.lost()).code, Code.UNAVAILABLE)
        await written
        await closed
        self.assertIsNone(self.logs.close())
        self.logs.reopen()
        lines = self.path.read_bytes().splitlines(keepends=True)
        found = [int(line.split()[-1]) for line in lines]
        self.assertEqual(found, list(range(499)))
        self.assertEqual(self.file.size, sum(map(len, lines)))

    async def test_overloaded(self) -> None:
        """When too much waits, more is refused until it is written."""
        self.patch(limits, "LOG_UNWRITTEN_BYTES", 60)
        taken = [self.write() for _ in range(2)]
        self.assertTrue(self.logs.overloaded)
        self.assertIs((await self.lost()).code, Code.UNAVAILABLE)
        for write in taken:
            await write
        self.assertFalse(self.logs.overloaded)
        await self.write("again")

    async def test_no_thread(self) -> None:
        """Where no thread can be had, that is what is answered."""
        in_thread, self.logs._in_thread = (
            self.logs._in_thread,
            lambda *_: fail(unavailable(NO_THREAD)),
        )
        error = await self.lost()
        self.assertEqual((error.code, error.message), (Code.UNAVAILABLE, NO_THREAD))
        self.assertEqual(self.logs._unwritten, 0)
        self.logs._in_thread = in_thread

    async def test_failing_to_rotate(self) -> None:
        """A file that can't be renamed is warned of once."""
        self.file._max_bytes = 1
        self.file.older.mkdir()
        with capturedLogs() as logged:
            for _ in range(4):
                await self.write()
        (line,) = map(formatEvent, logged)
        self.assertIn("cannot be rotated, and will lose lines: Is a directory", line)

    async def test_failing_to_reopen(self) -> None:
        """A file that can't be reopened is logged; lines are written while they can."""
        with capturedLogs() as logged:
            self.path.unlink()
            self.path.mkdir()
            self.assertIn("not be written: it was removed", (await self.lost()).message)
            self.path.rmdir()
            await self.write()
            self.path.rename(self.path.with_name("moved"))
            self.path.mkdir()
            for reopen in (lambda: None, self.logs.reopen):
                reopen()
                for _ in range(2):
                    await self.write()
        words = ["the page's log goes on in its former file"] * 2
        self.assertEqual([formatEvent(event) for event in logged], words)
        self.path.rmdir()
        in_thread = self.logs._in_thread
        self.logs._in_thread = lambda *_: fail(OSError(9, "Bad file descriptor"))
        self.logs.reopen()
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.logs._in_thread = in_thread
        await self.write()
