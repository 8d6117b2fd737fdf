"""Tests for bridge.services.logs."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, execute, fail
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, Logger, LogPublisher, formatEvent
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bridge.pagelog.pagefile import PageFile
from bridge.pagelog.writer import LogWriter
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import LOG_RECORDS, LOG_SCOPES, LOG_UNWRITTEN_BYTES
from bridge.rpc.registry import Registry
from bridge.services.logs import Logs
from tests.directories import fresh_directory

from ..schemas.checking import CheckedDispatcher

GOOD = {"level": "info", "scope": "a", "message": "m", "ts": 0}
LINE = b"1970-01-01T00:00:00.000Z INFO  [a] m\n"


def full(f: Any, *args: Any) -> Deferred[Any]:
    """Call what writes nothing; the disk is full."""
    return fail(OSError(28, "full")) if args else execute(f)


class LogsCase(SynchronousTestCase):
    """The service over a real file, called as a page's request is."""

    def setUp(self) -> None:
        """Open a file."""
        self.path = fresh_directory(self) / "logs" / "plugins.log"
        self.clock = Clock()
        self.reported: list[str] = []
        self.serve(self.writer(execute))

    def writer(self, in_thread: Any) -> LogWriter:
        """Open the file with a writer; both are closed when the test ends."""
        writer = LogWriter(PageFile.open(self.path, 10**9), in_thread)
        self.addCleanup(writer.close)
        return writer

    def serve(self, writer: LogWriter | None) -> None:
        """Make the service."""
        self.logs = Logs(writer, self.clock, lambda: ["s3cret"])
        reported = LogPublisher(self.hear)
        self.patch(Logs, "_log", Logger("bridge.services.logs", observer=reported))
        self.registry = Registry()
        self.registry.register("logs", self.logs)

    @implementer(ILogObserver)
    def hear(self, event: LogEvent) -> None:
        """Keep what the daemon logs."""
        self.reported.append(formatEvent(event))

    def calling(self, name: str, params: Any) -> Deferred[Any]:
        """Call one method."""
        call = CheckedDispatcher(self.registry).call("logs", name, params)
        return Deferred.fromCoroutine(call)

    def call(self, name: str, **params: Any) -> Any:
        """Call one method, and give its answer."""
        return self.successResultOf(self.calling(name, params))

    def refused(self, name: str, **params: Any) -> BridgeError:
        """Call one method, and give its refusal."""
        error = self.failureResultOf(self.calling(name, params), BridgeError).value
        assert isinstance(error, BridgeError)
        return error


class MethodTests(LogsCase):
    """Tests for the methods."""

    def test_write(self) -> None:
        """A batch is in the file when it is answered; bad records are left out."""
        answer = self.call("write", records=[GOOD, {"level": "info"}, GOOD])
        self.assertEqual(answer, {"ok": True, "written": 2})
        self.assertEqual(self.path.read_bytes(), LINE * 2)
        self.assertEqual(
            self.reported, ["dropped 1 log records of the page: they break a rule"]
        )

    def test_refused(self) -> None:
        """A batch of more than 200, or of another shape, is refused."""
        error = self.refused("write", records=[GOOD] * 201)
        self.assertEqual(error.message, "records: at most 200 entries")
        self.assertEqual(self.refused("write").message, "records: required")
        self.assertEqual(
            self.refused("write", records={}).message, "records: wrong type"
        )

    def test_info(self) -> None:
        """The file's location and size are returned."""
        self.call("write", records=[GOOD])
        self.assertEqual(
            self.call("info"),
            {"ok": True, "location": str(self.path), "bytes": len(LINE)},
        )

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

    def test_full_disk(self) -> None:
        """A batch that cannot be written is answered as internal."""
        self.serve(self.writer(full))
        self.assertEqual(self.refused("write", records=[GOOD]).code, Code.INTERNAL)

    def test_secret(self) -> None:
        """A secret in a page's record is not in the file."""
        self.call("write", records=[{**GOOD, "scope": "s3cret", "message": "s3cret"}])
        self.assertNotIn(b"s3cret", self.path.read_bytes())


class FrameTests(LogsCase):
    """Tests for ``logs`` frames."""

    def test_written(self) -> None:
        """A frame's records are written, the bad ones left out and counted."""
        self.logs.frame([GOOD, None])
        self.assertEqual(self.path.read_bytes(), LINE)
        self.assertEqual(len(self.reported), 1)

    def test_logged_once_a_second(self) -> None:
        """What was dropped is logged at most once a second."""
        for _ in range(5):
            self.logs.frame([None, None])
        self.assertEqual(self.counted(), [2])
        self.clock.advance(1)
        self.logs.frame("nothing")
        self.assertEqual(self.counted(), [2, 8])
        self.logs.close()
        self.assertEqual(self.counted(), [2, 8, 1])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_dropped_by_the_socket(self) -> None:
        """What the socket did not hand on is logged, the last of it a second later."""
        for _ in range(5):
            self.logs.drop(3, "they come too fast")
        self.logs.drop(0, "nothing")
        self.clock.advance(1)
        words = "dropped {} log records of the page: they come too fast"
        self.assertEqual(self.reported, [words.format(3), words.format(12)])

    def counted(self) -> list[int]:
        """Return the numbers in what the daemon logged."""
        words = "dropped {} log records of the page: they break a rule"
        counts = [int(line.split()[1]) for line in self.reported]
        self.assertEqual(self.reported, list(map(words.format, counts)))
        return counts

    def test_full_disk(self) -> None:
        """Records that cannot be written are counted, and the reason is logged."""
        self.serve(self.writer(full))
        self.logs.frame([GOOD] * 3)
        self.assertEqual(
            self.reported,
            [
                "dropped 3 log records of the page: "
                "the log file could not be written: full"
            ],
        )

    def test_overloaded(self) -> None:
        """When the file can't keep up, frames are dropped, and it can be asked for."""
        writing: list[Deferred[None]] = []

        def slow(f: Any, *args: Any) -> Any:
            if not args:
                return execute(f)
            writing.append(Deferred())
            return writing[-1]

        self.serve(self.writer(slow))
        many = [{**GOOD, "scope": str(n), "message": "x" * 4000} for n in range(200)]
        for _ in range(LOG_UNWRITTEN_BYTES // (4000 * 200) + 2):
            self.assertFalse(self.logs.overloaded)
            self.logs.frame(many)
            if self.logs.overloaded:
                break
        self.logs.frame(many)
        self.assertIn("faster than they can be written", self.reported[0])
        for written in writing:
            written.callback(None)
        self.assertFalse(self.logs.overloaded)

    @given(
        st.recursive(
            st.none() | st.integers() | st.text() | st.just(GOOD),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        )
    )
    @settings(deadline=None)
    def test_anything(self, records: Any) -> None:
        """Nothing a page can send raises."""
        self.logs.frame(records)


class ScopeTests(LogsCase):
    """Tests for the share of each scope."""

    def write(self, scope: str, count: int) -> int:
        """Write so many records, and return how many were written."""
        record = {**GOOD, "scope": scope}
        written = 0
        for start in range(0, count, LOG_RECORDS):
            records = [record] * min(LOG_RECORDS, count - start)
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
        self.assertEqual(len(dropped), 2)
        self.assertEqual(self.path.read_bytes().count(b"[plugin:a]"), 600)

    def test_attack_any_number_of_scopes(self) -> None:
        """Scopes beyond 256 share one budget until others have been quiet."""
        for number in range(LOG_SCOPES):
            self.write(f"s{number}", 1)
        self.assertEqual(self.write("late", 400) + self.write("later", 400), 500)
        self.assertLessEqual(len(self.logs._budgets), LOG_SCOPES + 1)
        self.clock.advance(60)
        self.assertEqual(self.write("new", 400) + self.write("newer", 400), 800)
        self.assertLessEqual(len(self.logs._budgets), 3)
