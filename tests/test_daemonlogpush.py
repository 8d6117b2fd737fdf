"""Tests for bridge.daemonlog."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any
from unittest import mock

from twisted.logger import Logger, LogLevel, LogPublisher
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge import daemonlog
from bridge.daemonlog import LogPush


class PushTests(SynchronousTestCase):
    """Tests for log lines on their way to the pages."""

    def setUp(self) -> None:
        """Make a logger whose lines are pushed."""
        self.pushed: list[dict[str, Any]] = []
        self.waiting: list[Callable[[], None]] = []
        self.publisher = LogPublisher()
        self.web = Logger("bridge.web", observer=self.publisher)
        self.patch(daemonlog, "isInIOThread", lambda: True)

    def observe(self, to: Callable[[dict[str, Any]], None]) -> None:
        """Let log lines be pushed to ``to``."""

        def in_reactor(f: Callable[..., None], *args: Any) -> None:
            self.waiting.append(lambda: f(*args))

        self.publisher.addObserver(LogPush(to, lambda: ["s3cret"], in_reactor))

    def turn(self) -> None:
        """Do what the reactor was asked to do, as it does: whatever that raises."""
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            with contextlib.suppress(ZeroDivisionError):
                call()

    def test_record(self) -> None:
        """A line is pushed as a record of the scope bridge, its time in whole ms."""
        self.observe(self.pushed.append)
        self.publisher(
            {
                "log_level": LogLevel.warn,
                "log_namespace": "bridge.web",
                "log_format": "a line",
                "log_time": 1.5006,
            }
        )
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
        """What is logged while pushing is not pushed."""

        def log_again(record: dict[str, Any]) -> None:
            self.pushed.append(record)
            self.web.error("pushing made this")

        self.observe(log_again)
        self.web.info("one")
        self.turn()
        self.web.info("two")
        self.turn()
        self.assertEqual([r["message"] for r in self.pushed], ["one", "two"])
        self.assertEqual(self.waiting, [])

    def test_failing_push(self) -> None:
        """A push that raises does not keep the next line from being pushed."""
        failing = mock.Mock(side_effect=[ZeroDivisionError, None])
        self.observe(failing)
        self.web.info("one")
        self.turn()
        self.web.info("two")
        self.turn()
        self.assertEqual(failing.call_count, 2)

    def test_signal(self) -> None:
        """A line logged where the reactor was interrupted is pushed when it goes on."""
        self.observe(self.pushed.append)
        self.web.info("Received SIGTERM, shutting down.")
        self.assertEqual(self.pushed, [])
        self.turn()
        self.assertEqual(len(self.pushed), 1)
