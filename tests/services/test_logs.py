import time
from typing import Any

from twisted.internet.defer import Deferred, execute, fail
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from bridge.pagelog.pagefile import LogWriter, PageFile
from bridge.protocol import limits
from bridge.protocol.errors import Code
from bridge.services.logs import Logs
from tests.directories import fresh_directory

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
        self.serve(self.writer(execute))

    def writer(self, in_thread: Any) -> LogWriter:
        """Open the file with a writer; both are closed when the test ends."""
        writer = LogWriter(PageFile.open(self.path, 10**9), in_thread)
        self.addCleanup(writer.close)
        return writer

    def serve(self, writer: LogWriter | None) -> None:
        self.logs = Logs(writer, self.clock, time.time, lambda: ["s3cret"])
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
        self.serve(self.writer(lambda *_: written))
        closing = self.logs.close()
        self.assertNoResult(closing)
        written.callback(None)
        self.successResultOf(closing)

    def test_full_disk(self) -> None:
        """A batch that cannot be written is internal; an empty one is not written."""
        self.serve(self.writer(full))
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
        self.patch(LogWriter, "overloaded", True)
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
