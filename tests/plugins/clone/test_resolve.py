"""Tests of ``bridge.plugins.clone.resolve``."""

from __future__ import annotations

import socket
import threading
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.resolve import resolve
from bridge.protocol.errors import BridgeError


class ResolveTests(SynchronousTestCase):
    """``resolve``."""

    def test_address(self) -> None:
        """A name's addresses are given with all that connecting needs."""
        found = resolve("127.0.0.1", 80, socket.getaddrinfo, lambda: None)
        self.assertEqual([one.host for one in found], ["127.0.0.1"])
        self.assertEqual(found[0].address, ("127.0.0.1", 80))

    def test_no_address(self) -> None:
        """A name that has none, or cannot be asked for, is refused."""
        for host in ("nowhere.invalid", "x" * 64 + ".org"):
            error = self.assertRaises(
                BridgeError, resolve, host, 80, socket.getaddrinfo, lambda: None
            )
            self.assertIn("could not be resolved", error.message)
            self.assertNotIn(host, error.message)

    def test_empty_answer(self) -> None:
        """An answer without an address is none."""
        self.assertRaises(BridgeError, resolve, "x", 80, lambda *_: [], lambda: None)

    def test_endless_look_up(self) -> None:
        """A resolver that does not answer does not hold a clone."""
        answer = threading.Event()

        def look_up(*asked: Any) -> list[Any]:
            answer.wait(10)
            return []

        def check() -> None:
            raise KeyboardInterrupt

        self.assertRaises(KeyboardInterrupt, resolve, "x", 80, look_up, check)
        answer.set()
        for thread in threading.enumerate():
            if thread.name == "clone-resolver":
                thread.join()

    def test_slow_look_up(self) -> None:
        """A resolver that takes its time is waited for."""
        answer = threading.Event()

        def look_up(*asked: Any) -> list[Any]:
            answer.wait(10)
            return [(2, 1, 6, "", ("192.0.2.1", 80))]

        found = resolve("x", 80, look_up, answer.set)
        self.assertEqual(found[0].host, "192.0.2.1")
