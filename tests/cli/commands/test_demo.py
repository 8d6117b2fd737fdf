"""``plugin-bridge demo``: what ends it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands.demo import typed_name, watch


class Reactor(Clock):
    """Keeps its triggers, and counts how often it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.triggers: list[tuple[Any, ...]] = []
        self.stops = 0

    def addSystemEventTrigger(self, phase: str, event: str, *call: Any) -> None:
        """Keep a trigger."""
        self.triggers.append(call)

    def stop(self) -> None:
        """Count."""
        self.stops += 1


class WatchTests(SynchronousTestCase):
    """Tests for ``watch``."""

    def setUp(self) -> None:
        """A demo that runs."""
        self.reactor: Any = Reactor()
        self.ended: Deferred[None] = Deferred()
        self.failures: list[str] = []
        watch(self.reactor, self.ended, self.failures)

    def test_daemon_dies(self) -> None:
        """A demo without its daemon ends, and reports why."""
        self.ended.callback(None)
        self.reactor.advance(1)
        self.assertEqual(self.reactor.stops, 1)
        self.assertEqual(len(self.failures), 1)
        self.assertIn("daemon has ended", self.failures[0])

    def test_ctrl_c(self) -> None:
        """After Ctrl-C the daemon ends because the demo does: no failure."""
        ((call, *arguments),) = self.reactor.triggers
        call(*arguments)
        self.ended.callback(None)
        self.reactor.advance(1)
        self.assertEqual((self.failures, self.reactor.stops), ([], 0))


class CommandTests(SynchronousTestCase):
    """Tests for ``typed_name``."""

    def test_on_the_path(self) -> None:
        """Its name is enough where the shell finds it."""
        folder = Path(sys.executable).parent
        self.patch(os, "environ", {**os.environ, "PATH": str(folder)})
        self.assertEqual(typed_name(), "plugin-bridge")

    def test_elsewhere(self) -> None:
        """After ``make demo`` it is in the environment that runs the demo."""
        self.patch(os, "environ", {**os.environ, "PATH": ""})
        program = Path(typed_name())
        self.assertTrue(program.is_absolute())
        self.assertTrue(os.access(program, os.X_OK))
