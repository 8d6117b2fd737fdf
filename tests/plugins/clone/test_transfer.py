"""Tests of ``bridge.plugins.clone.transfer``."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.transfer import CloneLimits, Transfer
from bridge.protocol.errors import BridgeError


class TransferTests(SynchronousTestCase):
    """``Transfer``."""

    def setUp(self) -> None:
        """Make a clock that stands still."""
        self.time = 100.0
        self.stop = threading.Event()
        self.progress: list[int] = []

    def transfer(self, **limits: int) -> Transfer:
        """A transfer on that clock."""
        chosen = CloneLimits(seconds=10, **limits)
        return Transfer(chosen, lambda: self.time, self.progress.append, self.stop)

    def message(self, call: Callable[[], None]) -> str:
        """What ``call`` is refused with."""
        return str(self.assertRaises(BridgeError, call).message)

    def test_in_time(self) -> None:
        """Until the deadline a clone may go on."""
        with self.transfer() as transfer:
            self.time += 9.9
            transfer.check()

    def test_deadline(self) -> None:
        """At the deadline it may not."""
        with self.transfer() as transfer:
            self.time += 10
            message = self.message(transfer.check)
        self.assertEqual(message, "clone_failed: not finished within 10 seconds")

    def test_stop(self) -> None:
        """A clone that was stopped may not go on."""
        with self.transfer() as transfer:
            self.stop.set()
            message = self.message(transfer.check)
        self.assertEqual(message, "clone_failed: stopped before it was finished")

    def test_first_reason_stays(self) -> None:
        """What ended a clone first is the reason that is given."""
        with self.transfer() as transfer:
            self.stop.set()
            self.message(transfer.check)
            self.time += 10
            self.assertIn("stopped", self.message(transfer.check))

    def test_bytes(self) -> None:
        """The limit of received bytes may be reached but not passed."""
        with self.transfer(received_bytes=100) as transfer:
            transfer.received(100)
            message = self.message(lambda: transfer.received(1))
            self.assertEqual(message, "clone_failed: more than 100 bytes received")
            self.assertEqual(self.message(transfer.check), message)

    def test_progress(self) -> None:
        """Progress is reported at most five times a second."""
        with self.transfer() as transfer:
            for _ in range(40):
                transfer.received(1)
                self.time += 0.0625
        self.assertEqual(self.progress, list(range(1, 41, 4)))

    def test_read_is_woken(self) -> None:
        """A read that blocks ends when the clone is stopped."""
        near, far = socket.socketpair()
        with near, far, self.transfer() as transfer:
            transfer.hold(near)
            timer = threading.Timer(0.1, self.stop.set)
            timer.start()
            started = time.monotonic()
            self.assertEqual(near.recv(1), b"")
            self.assertLess(time.monotonic() - started, 20)
            timer.join()

    def test_late_socket(self) -> None:
        """A connection made after the end is refused, and closed with the rest."""
        near, far = socket.socketpair()
        with near, far:
            with self.transfer() as transfer:
                self.stop.set()
                self.message(lambda: transfer.hold(near))
            near.close()
            self.assertEqual(far.recv(1), b"")

    def test_watchdog_ends(self) -> None:
        """No thread is left."""
        with self.transfer():
            pass
        names = [thread.name for thread in threading.enumerate()]
        self.assertNotIn("clone-watchdog", names)
