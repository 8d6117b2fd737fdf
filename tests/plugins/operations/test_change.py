"""One change of what is installed; the whole of it is in ``test_install``."""

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.installed.exchange import Exchange
from bridge.plugins.installed.records import former
from bridge.plugins.operations.underway.running import Running
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import STATE_DAEMON_BYTES
from bridge.store import Drop, Put, Remove

from .bench import Bench


class ChangeTests(SynchronousTestCase):
    """Tests for ``Change``."""

    def setUp(self):
        """Make one, and an operation."""
        self.bench = Bench(self)
        self.change = self.bench.change
        self.running = Running(Operation.UPDATE, "good", self.bench.audience)
        kept = [Put("plugin:good", "a", 1), Put("bridge.x", "old", [2])]
        self.successResultOf(self.bench.store.commit(kept))
        self.before = self.bench.left()

    def undo(self):
        """Take everything back."""
        self.successResultOf(Deferred.fromCoroutine(self.running.undo.run()))

    def record(self, *edits, more=()):
        """Commit edits."""
        before = former(self.bench.store, [*edits, *more])
        exchange = Exchange("update", "good", None, None, None, before)
        return Deferred.fromCoroutine(self.change.record(self.running, exchange, edits))

    def test_edits_are_taken_back(self):
        """Undone, every value is as it was, dropped namespaces too."""
        self.successResultOf(
            self.record(
                Put("bridge.x", "new", 1),
                Remove("bridge.x", "old"),
                Drop("plugin:good"),
            )
        )
        self.assertEqual(self.bench.left()[1], {"bridge.x": {"new": 1}})
        self.undo()
        self.assertEqual(self.bench.left(), self.before)

    def test_more_to_undo(self):
        """What somebody else puts where there was nothing is rolled back, too."""
        self.successResultOf(
            self.record(Put("bridge.x", "new", 1), more=[Drop("plugin:other")])
        )
        settings = [Put("plugin:other", "a", 1), Put("plugin:good", "a", 2)]
        self.successResultOf(self.bench.store.commit(settings))
        self.undo()
        self.assertEqual(
            self.bench.left()[1],
            {"bridge.x": {"old": [2]}, "plugin:good": {"a": 2}},
        )

    def test_generation_before(self):
        """Undone, nothing of it is in the state file's previous generation, either."""
        self.successResultOf(self.record(Put("bridge.x", "new", 1)))
        self.undo()
        path = self.bench.data.state
        previous = path.with_name("state.json.bak")
        self.assertEqual(previous.read_bytes(), path.read_bytes())
        self.assertNotIn(b"new", previous.read_bytes())

    def test_generation_before_that_stays(self):
        """When that can't be written any more, it is logged; the rest is undone."""
        self.successResultOf(self.record(Put("bridge.x", "new", 1)))
        self.bench.writes.slow = "replace"
        undoing = Deferred.fromCoroutine(self.running.undo.run())
        self.bench.writes.failing = {"replace": OSError(28, "No space left on device")}
        with capturedLogs() as logged:
            self.bench.writes.go_on()
        self.successResultOf(undoing)
        (why,) = [event["why"] for event in logged if "why" in event]
        self.assertIn("No space left on device", why)
        self.assertEqual(self.bench.left(), self.before)

    def test_killed_before_the_generation_before_was_written(self):
        """What was rolled back is not in it, either, when a start has gone on."""
        for edit in (Put("bridge.x", "new", 1), Remove("bridge.x", "new")):
            self.successResultOf(self.bench.store.commit([edit]))
        previous = self.bench.data.state.with_name("state.json.bak")
        self.assertIn(b"new", previous.read_bytes())
        exchange = Exchange("update", "good", ".tmp-0a", None, {"url": "x"})
        resuming = Deferred.fromCoroutine(self.change.resume(self.running, exchange))
        self.successResultOf(resuming)
        self.assertNotIn(b"new", previous.read_bytes())

    def test_refused_edits_leave_nothing_to_undo(self):
        """Edits that do not fit are refused, and nothing is undone for them."""
        large = Put("bridge.x", "new", "x" * STATE_DAEMON_BYTES)
        error = self.failureResultOf(self.record(large), BridgeError).value
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertEqual(self.bench.left(), self.before)
        self.undo()
        self.assertEqual(self.bench.left(), self.before)

    def test_build_without_the_plugin(self):
        """A bundle that was published without the plugin is a failed build."""
        building = Deferred.fromCoroutine(self.change.build("good"))
        error = self.failureResultOf(building, BridgeError).value
        self.assertEqual(
            error.message, "build_failed: the plugin was left out of the bundle"
        )
