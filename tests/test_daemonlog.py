import contextlib
import io
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from twisted.logger import Logger, LogLevel, LogPublisher
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge import daemonlog
from bridge.daemonlog import (
    LogPush,
    Observer,
    Output,
    open_daemon_log,
    read_event,
)
from bridge.datadir.paths import DataDir
from bridge.protocol.limits import DAEMON_LOG_BYTES
from bridge.system.processes import to_journal

from .directories import fresh_directory


class OutputCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.stream = self.enterContext(tempfile.TemporaryFile("w+"))

    def logger(
        self,
        form: str,
        secrets: Callable[[], Sequence[str]] = tuple,
        level: str = "debug",
        journal: bool = False,
    ) -> Logger:
        """Make a logger that writes to the stream."""
        self.output = Output(self.stream, form, journal)
        observer = Observer(level, secrets, [self.output])
        return Logger("bridge.web.site.Site", observer=LogPublisher(observer))

    def written(self) -> str:
        self.output.end()
        self.stream.seek(0)
        return self.stream.read()


class TextTests(OutputCase):
    def test_traceback(self) -> None:
        """A traceback follows its message, indented."""
        broken = Failure(ZeroDivisionError("by nothing"))
        self.logger("text").failure("it broke", broken)
        first, *rest = self.written().splitlines()
        self.assertIn("ERROR [web.site] it broke", first)
        self.assertIn("ZeroDivisionError: by nothing", self.written())
        for line in rest:
            self.assertTrue(line.startswith("    "), line)

    def test_forged_line_attack(self) -> None:
        """A value in a message cannot forge a line, or move the cursor."""
        forged = "x\n2026-01-01T00:00:00.000Z ERROR [web] \x1b[2J\u202eforged\r"
        self.logger("text").info("got {it}", it=forged)
        first, second = self.written().splitlines()
        self.assertTrue(first.endswith("got x"))
        self.assertEqual(second, "    2026-01-01T00:00:00.000Z ERROR [web] forged")

    def test_broken_stream(self) -> None:
        """A stream that is gone is not an error."""
        read, write = os.pipe()
        os.close(read)
        with open(write, "w") as stream:
            output = Output(stream, "text")
            output.end()
            output(read_event({"log_format": "x"}, tuple))
        output(read_event({"log_format": "x"}, tuple))

    def test_attack_nobody_reads(self) -> None:
        """Nothing waits for a reader; what was too much for the queue is counted."""
        for ends in (False, True):
            read, write = os.pipe()
            os.set_blocking(write, not ends)
            stream = self.enterContext(open(write, "w"))
            reader = self.enterContext(open(read, "rb"))
            output = Output(stream, "text")
            log = Logger("bridge.x", observer=Observer("info", tuple, [output]))
            for number in range(3000):
                log.info("{number:099}", number=number)
            if ends:
                # It waits for a second in all.
                begun = time.monotonic()
                output.end()
                output.end()
                self.assertLess(time.monotonic() - begun, 1.9)
            lines: list[int] = []
            lost = 0
            for _ in range(6000):
                if len(lines) + lost == 3000:
                    break
                if not (ends or output._lines.qsize()):
                    log.info("the last")  # before which the count is told
                line = reader.readline()
                lost += sum(map(int, re.findall(rb"(\d+) lines were not shown", line)))
                lines += map(int, re.findall(rb"x\] (\d{99})\n", line))
            self.assertEqual((len(lines) + lost, lines), (3000, sorted(lines)))

    def test_secrets(self) -> None:
        """A secret appears neither in a message nor in a traceback."""
        current = ["s3cret"]
        logger = self.logger("text", lambda: current)
        broken = Failure(ValueError("not s3cret"))
        logger.failure("s3cr\x00et {it}", broken, it="s3cret")
        current[0] = "n3w"
        logger.info("n3w")
        self.assertNotIn("s3cret", self.written())
        self.assertNotIn("n3w", self.written())
        self.assertEqual(self.written().count("[redacted]"), 4)


class JsonTests(OutputCase):
    def test_form(self) -> None:
        """One object a line with time, level, source, message, and any traceback."""
        logger = self.logger("json")
        logger.warn("a\n{what}", what="b\ud800\x00")
        logger.failure("it broke", Failure(ZeroDivisionError()))
        line, broken = map(json.loads, self.written().splitlines())
        self.assertEqual(list(line), ["time", "level", "source", "message"])
        found = line["level"], line["source"], line["message"]
        self.assertEqual(found, ("warn", "web.site", "a\nb"))
        self.assertEqual(broken["message"], "it broke")
        self.assertIn("ZeroDivisionError", broken["traceback"])


class JournalTests(OutputCase):
    def test_prefix(self) -> None:
        """Every line has the priority before it, and no time or level of its own."""
        source = self.logger("text", journal=True)
        source.debug("a")
        source.info("b")
        source.warn("c\nd")
        source.error("e")
        source.critical("f")
        self.assertEqual(
            self.written(),
            "<7>[web.site] a\n<6>[web.site] b\n<4>[web.site] c\n<4>    d\n"
            "<3>[web.site] e\n<3>[web.site] f\n",
        )
        self.logger("json", journal=True).error("a")
        self.assertIn('\n<3>{"time":', self.written())

    def test_recognised(self) -> None:
        """The stream is the journal when JOURNAL_STREAM names its file."""
        with tempfile.TemporaryFile("w") as stream:
            found = os.fstat(stream.fileno())
            named = {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
            self.assertTrue(to_journal(stream, named))
            self.assertFalse(to_journal(stream, {"JOURNAL_STREAM": "1:2"}))
            self.assertFalse(to_journal(stream, {}))
        self.assertFalse(to_journal(stream, named))
        self.assertFalse(to_journal(io.StringIO(), named))


class LevelTests(OutputCase):
    CALLS: ClassVar = ("debug", "info", "warn", "error", "critical")

    def test_each_level(self) -> None:
        """Each level shows itself and what is above it."""
        for index, level in enumerate(self.CALLS[:4]):
            self.setUp()
            logger = self.logger("text", level=level)
            for call in self.CALLS:
                getattr(logger, call)(call)
            shown = [line.split()[-1] for line in self.written().splitlines()]
            self.assertEqual(shown, list(self.CALLS[index:]))


class EventTests(SynchronousTestCase):
    def source(self, namespace: str | None) -> str:
        """Return the source of an event of ``namespace``."""
        event: dict[str, Any] = {"log_format": "", "log_level": LogLevel.info}
        if namespace is not None:
            event["log_namespace"] = namespace
        return read_event(event, tuple).source

    def test_source(self) -> None:
        """A source is a module, without the project's name and without a class."""
        for namespace, source in (
            ("bridge", "bridge"),
            ("bridge.rpc.Hub", "rpc"),
            ("bridge.web.site._Site", "web.site"),
            ("bridge.services.state", "services.state"),
            ("twisted.web.server.Site", "twisted.web.server"),
            ("log_legacy", "twisted"),
            (None, "twisted"),
        ):
            self.assertEqual(self.source(namespace), source)

    def test_bare_event(self) -> None:
        """An event with nothing in it can be read."""
        entry = read_event({}, tuple)
        self.assertEqual((entry.level, entry.message, entry.time), ("info", "", 0.0))


class PushTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.pushed: list[dict[str, Any]] = []
        self.waiting: list[Callable[[], None]] = []
        self.publisher = LogPublisher()
        self.web = Logger("bridge.web", observer=self.publisher)
        self.patch(daemonlog, "isInIOThread", lambda: True)

    def observe(self, to: Callable[[dict[str, Any]], None]) -> None:

        def in_reactor(f: Callable[..., None], *args: Any) -> None:
            self.waiting.append(lambda: f(*args))

        push = LogPush(to, in_reactor)
        self.publisher.addObserver(Observer("debug", lambda: ["s3cret"], [push]))

    def turn(self) -> None:
        """Do what the reactor was asked to do, as it does: whatever that raises."""
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            with contextlib.suppress(ZeroDivisionError):
                call()

    def test_record(self) -> None:
        """Soon a line is pushed as a record of the scope bridge, its time in ms."""
        self.observe(self.pushed.append)
        self.publisher(
            {
                "log_level": LogLevel.warn,
                "log_namespace": "bridge.web",
                "log_format": "a line",
                "log_time": 1.5006,
            }
        )
        # A handler of signals may interrupt what cannot be entered again.
        self.assertEqual(self.pushed, [])
        self.turn()
        self.assertEqual(
            self.pushed,
            [{"level": "warn", "scope": "bridge", "message": "a line", "ts": 1501}],
        )
        self.assertIs(type(self.pushed[0]["ts"]), int)

    def test_what_a_page_receives(self) -> None:
        """No secret, no traceback, no more than a page's own record could hold."""
        self.observe(self.pushed.append)
        broken = Failure(ZeroDivisionError("/home/user/path"))
        self.web.failure("s3cret broke\nand more", broken)
        self.web.info("x" * 5000)
        self.turn()
        self.assertEqual(
            self.pushed[0]["message"], "[redacted] broke (ZeroDivisionError)"
        )
        self.assertEqual(len(self.pushed[1]["message"]), 4000)

    def test_never_loops(self) -> None:
        """What is logged while pushing is not pushed; the next is, also if it fails."""

        def log_again(record: dict[str, Any]) -> None:
            self.pushed.append(record)
            self.web.error("pushing made this")
            raise ZeroDivisionError

        self.observe(log_again)
        for line in ("one", "two"):
            self.web.info(line)
            self.turn()
        self.assertEqual([r["message"] for r in self.pushed], ["one", "two"])
        self.assertEqual(self.waiting, [])


class KeptTests(SynchronousTestCase):
    """Tests for what a bug report takes the daemon's lines from."""

    def setUp(self) -> None:
        self.data = DataDir(fresh_directory(self))
        self.kept, self.notice = open_daemon_log(self.data)
        self.addCleanup(self.kept.close)
        observer = Observer("debug", lambda: ["s3cret"], [self.kept])
        self.log = Logger("bridge.x", observer=observer)

    def test_kept_until_closed(self) -> None:
        """Lines are in the file, without secrets; after the end nothing is added."""
        self.assertIsNone(self.notice)
        self.log.warn("one s3cret \ud800")
        self.kept.close()
        self.log.warn("two")
        text = (self.data.root / "logs/daemon.log").read_text("utf-8")
        self.assertRegex(text, r"^\S+ WARN  \[x\] one \[redacted\].*\n$")
        self.assertNotIn("s3cret", text)

    def test_bounded(self) -> None:
        """The file and its older generation have a bound each."""
        for _ in range(3 * DAEMON_LOG_BYTES // 50_000):
            self.log.info("x" * 50_000)
        sizes = [path.stat().st_size for path in self.data.daemon_log.parent.iterdir()]
        self.assertEqual(len(sizes), 2)
        self.assertLessEqual(max(sizes), DAEMON_LOG_BYTES)

    def test_attack_directory_of_others(self) -> None:
        """Where others can write, nothing is kept, and the start names it."""
        folder = self.data.daemon_log.parent
        folder.chmod(0o777)
        kept, notice = open_daemon_log(self.data)
        Logger("bridge.x", observer=Observer("debug", list, [kept])).info("lost")
        self.assertIn(f"{folder} can be written by other users", str(notice))
        self.assertEqual(self.data.daemon_log.read_bytes(), b"")
