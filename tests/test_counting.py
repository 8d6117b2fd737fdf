"""Tests for ``tests.counting``."""

import json
import sys

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

import twisted

from .counting import calls_made, calls_of


async def _waiting(waited: Deferred[None]) -> list[int]:
    await waited
    return [2 * number for number in range(3)]


class CallsOfTests(SynchronousTestCase):
    """Tests for ``calls_of``."""

    def test_of(self):
        """A function counts each time, and a coroutine again when it goes on."""
        waited: Deferred[None] = Deferred()

        def do() -> None:
            running = Deferred.fromCoroutine(_waiting(waited))
            waited.callback(None)
            self.assertEqual(self.successResultOf(running), [0, 2, 4])

        calls = calls_of(do)
        self.assertEqual(calls.of(_waiting), 2)
        self.assertEqual(calls.of(do), 1)
        self.assertEqual(calls.of(calls_of), 0)

    def test_within(self):
        """Functions of a package count, and those of others do not."""
        do = json.JSONDecoder().decode
        once = calls_of(lambda: do("7"))
        twice = calls_of(lambda: do("7") + do("7"))
        self.assertGreater(once.within(json), 0)
        self.assertEqual(twice.within(json), 2 * once.within(json))
        self.assertEqual(once.within(twisted), 0)

    def test_profile_is_put_back(self):
        """A profiler that was set goes on, also after a failure."""
        before = sys.getprofile()
        self.assertRaises(ZeroDivisionError, calls_of, lambda: 1 // 0)
        self.assertIs(sys.getprofile(), before)


class CallsMadeTests(SynchronousTestCase):
    """Tests for ``calls_made``."""

    def test_all(self) -> None:
        """Functions in Python and built in count alike; a profiler stays as it was."""
        before = sys.getprofile()
        once = calls_made(lambda: json.loads("7"))
        twice = calls_made(lambda: (json.loads("7"), json.loads("7")))
        self.assertGreater(once, 1)
        # What is called around it counts once.
        self.assertEqual(twice - once, once - calls_made(lambda: None))
        self.assertIs(sys.getprofile(), before)
