"""Tests for bridge.daemonlog."""

from __future__ import annotations

import io
import json
import os
import tempfile
from typing import Any, ClassVar

from twisted.logger import Logger, LogLevel, LogPublisher
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.daemonlog import Output, at_least, read_event, to_journal
from bridge.protocol.text import no_secrets


class Broken(io.StringIO):
    """A stream whose other end is gone."""

    def write(self, _: str) -> int:
        """Fail."""
        raise BrokenPipeError


class OutputCase(SynchronousTestCase):
    """A stream, and a logger that writes to it."""

    def setUp(self) -> None:
        """Make the stream."""
        self.stream = io.StringIO()

    def logger(self, *args: Any, **kwargs: Any) -> Logger:
        """Make a logger that writes to the stream."""
        output = Output(self.stream, *args, **kwargs)
        return Logger("bridge.web.site.Site", observer=LogPublisher(output))

    def written(self) -> str:
        """Return what was written."""
        return self.stream.getvalue()


class TextTests(OutputCase):
    """Tests for lines of text."""

    def test_form(self) -> None:
        """Time, level padded to five, source, message."""
        self.logger("text", no_secrets).info("a {what}", what="socket")
        self.assertRegex(
            self.written(),
            r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO  "
            r"\[web\.site\] a socket\n\Z",
        )

    def test_traceback(self) -> None:
        """A traceback follows its message, indented."""
        broken = Failure(ZeroDivisionError("by nothing"))
        self.logger("text", no_secrets).failure("it broke", broken)
        first, *rest = self.written().splitlines()
        self.assertIn("ERROR [web.site] it broke", first)
        self.assertIn("ZeroDivisionError: by nothing", self.written())
        for line in rest:
            self.assertTrue(line.startswith("    "), line)

    def test_forged_line_attack(self) -> None:
        """A value in a message cannot forge a line, or move the cursor."""
        forged = "x\n2026-01-01T00:00:00.000Z ERROR [web] \x1b[2J\u202eforged\r"
        self.logger("text", no_secrets).info("got {it}", it=forged)
        first, second = self.written().splitlines()
        self.assertTrue(first.endswith("got x"))
        self.assertEqual(second, "    2026-01-01T00:00:00.000Z ERROR [web] forged")

    def test_broken_stream(self) -> None:
        """A stream that is gone is not an error."""
        for stream in (Broken(), io.StringIO()):
            stream.close()
            Output(stream, "text", no_secrets)({"log_format": "x"})
        Output(Broken(), "text", no_secrets)({"log_format": "x"})

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
    """Tests for lines of JSON."""

    def line(self) -> Any:
        """Read the one line."""
        [line] = self.written().splitlines()
        return json.loads(line)

    def test_form(self) -> None:
        """One object a line with time, level, source and message, in this order."""
        self.logger("json", no_secrets).warn("a\n{what}", what="b\ud800\x00")
        line = self.line()
        self.assertEqual(list(line), ["time", "level", "source", "message"])
        self.assertEqual(line["level"], "warn")
        self.assertEqual(line["source"], "web.site")
        self.assertEqual(line["message"], "a\nb")

    def test_traceback(self) -> None:
        """A traceback is a field of its own."""
        broken = Failure(ZeroDivisionError())
        self.logger("json", no_secrets).failure("it broke", broken)
        self.assertEqual(self.line()["message"], "it broke")
        self.assertIn("ZeroDivisionError", self.line()["traceback"])


class JournalTests(OutputCase):
    """Tests for lines to the journal."""

    def test_prefix(self) -> None:
        """Every line has the priority before it, and no time or level of its own."""
        source = self.logger("text", no_secrets, journal=True)
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

    def test_json(self) -> None:
        """Lines of JSON have the prefix too."""
        self.logger("json", no_secrets, journal=True).error("a")
        self.assertTrue(self.written().startswith('<3>{"time":'))

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
    """Tests for --log."""

    CALLS: ClassVar = ("debug", "info", "warn", "error", "critical")

    def test_each_level(self) -> None:
        """Each level shows itself and what is above it."""
        for index, level in enumerate(self.CALLS[:4]):
            self.stream = io.StringIO()
            output = at_least(level, Output(self.stream, "text", no_secrets))
            logger = Logger("bridge", observer=LogPublisher(output))
            for call in self.CALLS:
                getattr(logger, call)(call)
            shown = [line.split()[-1] for line in self.written().splitlines()]
            self.assertEqual(shown, list(self.CALLS[index:]))


class EventTests(SynchronousTestCase):
    """Tests for reading events."""

    def source(self, namespace: str | None) -> str:
        """Return the source of an event of ``namespace``."""
        event: dict[str, Any] = {"log_format": "", "log_level": LogLevel.info}
        if namespace is not None:
            event["log_namespace"] = namespace
        return read_event(event, no_secrets).source

    def test_source(self) -> None:
        """A source is a module, without the project's name and without a class."""
        for namespace, source in (
            ("bridge", "bridge"),
            ("bridge.rpc.hub.Hub", "rpc.hub"),
            ("bridge.web.site._Site", "web.site"),
            ("bridge.services.state", "services.state"),
            ("twisted.web.server.Site", "twisted.web.server"),
            ("log_legacy", "twisted"),
            (None, "twisted"),
        ):
            self.assertEqual(self.source(namespace), source)

    def test_bare_event(self) -> None:
        """An event with nothing in it can be read."""
        entry = read_event({}, no_secrets)
        self.assertEqual((entry.level, entry.message, entry.time), ("info", "", 0.0))
