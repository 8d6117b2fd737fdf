"""Tests for ``bridge.plugins.operations.underway.undo``."""

import errno

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.operations.underway.undo import Undo


def noting(into, what):
    """A way to undo that only notes that it was called."""

    def undo():
        into.append(what)
        return succeed(None)

    return undo


class UndoTests(SynchronousTestCase):
    """Tests for ``Undo``."""

    def test_order(self):
        """The last effect is rolled back first, and afterwards comes after."""
        done: list[str] = []
        undo = Undo()
        undo.afterwards("notify", noting(done, "notify"))
        for name in ("one", "two"):
            undo.add(name, noting(done, name))
        self.successResultOf(Deferred.fromCoroutine(undo.run()))
        self.successResultOf(Deferred.fromCoroutine(undo.run()))
        self.assertEqual(done, ["two", "one", "notify"])

    def test_failure_keeps_nothing_else_from_being_undone(self):
        """What cannot be undone is logged, and the rest is undone."""
        done: list[str] = []
        undo = Undo()
        undo.add("one", noting(done, "one"))
        undo.add("two", lambda: fail(OSError("full")))
        self.successResultOf(Deferred.fromCoroutine(undo.run()))
        self.assertEqual(done, ["one"])
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_full_disk(self):
        """What a full disk keeps from being undone is reported without a traceback."""
        undo = Undo()
        undo.add("one", lambda: fail(OSError(errno.ENOSPC, "full")))
        self.successResultOf(Deferred.fromCoroutine(undo.run()))
        self.assertEqual(self.flushLoggedErrors(), [])
