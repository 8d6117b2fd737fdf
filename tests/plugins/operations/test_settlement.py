"""One change of what is installed; the whole of it is in ``test_install``."""

from unittest import mock

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.bundle.build import Report
from bridge.plugins.installed.exchange import Exchange, Journal
from bridge.plugins.installed.records import former
from bridge.plugins.operations.job import Job, Request
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import STATE_DAEMON_BYTES
from bridge.store import Drop, Put, Remove
from bridge.store.generations import Generations, NotDurableError

from .bench import Bench, FakeBuilder, url_of


class InstalledSetTests(SynchronousTestCase):
    """Tests for ``InstalledSet``."""

    def setUp(self):
        """Make one, and an operation."""
        self.bench = Bench(self)
        self.running = Job(Request(Operation.UPDATE, plugin_id="good"), self.bench.sink)
        kept = [Put("plugin:good", "a", 1), Put("bridge.x", "old", [2])]
        self.successResultOf(self.bench.store.commit(kept))
        self.before = self.bench.left()

    def change(self, *edits, more=()):
        """Put a tree in place with these edits, which is not built."""
        clone = self.bench.trees.fresh()
        clone.mkdir()
        record = Put("bridge.plugins", "good", {"url": "x"})
        before = former(self.bench.store, [record, *edits, *more])
        exchange = Exchange("update", "good", clone.name, None, record.value, before)
        return Deferred.fromCoroutine(
            self.bench.settlement.change(self.running, exchange, [record, *edits])
        )

    def refused(self, changing):
        """Expect that a change was taken back; the error."""
        return self.failureResultOf(changing, BridgeError).value

    def test_edits_are_taken_back(self):
        """Every value is as it was, dropped namespaces too."""
        seen = []
        self.bench.threads.before = {"entries": lambda: seen.append(self.bench.left())}
        edits = (
            Put("bridge.x", "new", 1),
            Remove("bridge.x", "old"),
            Drop("plugin:good"),
        )
        self.refused(self.change(*edits))
        ((_, values),) = seen
        self.assertEqual(values["bridge.x"], {"new": 1})
        self.assertNotIn("plugin:good", values)
        self.assertEqual(self.bench.left(), self.before)

    def test_more_to_take_back(self):
        """What somebody else puts where there was nothing is rolled back, too."""
        settings = [Put("plugin:other", "a", 1), Put("plugin:good", "a", 2)]
        self.bench.threads.before = {
            "entries": lambda: self.bench.store.commit(settings)
        }
        self.refused(self.change(more=[Drop("plugin:other")]))
        self.assertEqual(
            self.bench.left()[1],
            {"bridge.x": {"old": [2]}, "plugin:good": {"a": 2}},
        )

    def test_generation_before(self):
        """Nothing of it is in the state file's previous generation, either."""
        self.refused(self.change(Put("bridge.x", "new", 1)))
        path = self.bench.data.state
        previous = path.with_name("state.json.bak")
        self.assertEqual(previous.read_bytes(), path.read_bytes())
        self.assertNotIn(b"new", previous.read_bytes())

    def test_generation_before_that_stays(self):
        """When that can't be written any more, it is when something else is done."""
        replace = Generations.replace
        written: list[None] = []

        def later_fail(file, pieces):
            written.append(None)
            if len(written) > 2:
                raise OSError(28, "No space left on device")
            replace(file, pieces)

        with mock.patch.object(Generations, "replace", later_fail):
            self.refused(self.change(Put("bridge.x", "new", 1)))
        self.assertEqual(self.bench.left()[1], self.before[1])
        previous = self.bench.data.state.with_name("state.json.bak")
        self.assertIn(b"new", previous.read_bytes())
        self.assertTrue(self.bench.journal.exists())
        self.successResultOf(Deferred.fromCoroutine(self.bench.settlement.settle()))
        self.assertNotIn(b"new", previous.read_bytes())
        self.assertFalse(self.bench.journal.exists())

    def test_edits_that_do_not_fit(self):
        """They are refused, and all is as it was."""
        large = Put("bridge.x", "new", "x" * STATE_DAEMON_BYTES)
        self.assertEqual(self.refused(self.change(large)).code, Code.INTERNAL)
        self.assertEqual(self.bench.left(), self.before)

    def test_build_without_the_plugin(self):
        """A bundle that was published without the plugin is a failed build."""
        self.bench.publish("good")
        self.patch(FakeBuilder, "report", lambda *_: LEFT_OUT)
        installing = self.bench.install(url_of("good"))
        self.assertEqual(
            self.refused(installing).message,
            "build_failed: the plugin was left out of the bundle",
        )

    def test_linked_meanwhile(self):
        """What ``plugin-bridge dev`` has linked would be built instead of it."""
        self.bench.publish("good")
        self.bench.approver.answers = [None]
        installing = self.bench.install(url_of("good"))
        linked = mock.Mock(entry=mock.Mock(id="good"))
        self.bench.trees.linked["good"] = linked
        self.bench.approver.open[0].callback(None)
        message = self.refused(installing).message
        self.assertIn("build_failed: plugin-bridge dev has linked good", message)
        self.assertEqual(self.bench.left()[0], [])

    def test_journal_that_cannot_be_begun(self):
        """Nothing has moved, so nothing is pushed or built."""
        self.bench.threads.failing = {"begin": OSError(28, "No space left on device")}
        self.failureResultOf(self.change(), OSError)
        self.assertEqual(self.bench.events, [])

    def test_journal_that_cannot_be_removed(self):
        """What has not happened durably is taken back, with the bundle."""
        bench = self.bench
        bench.publish("good")
        bench.threads.failing = {"end": OSError(5, "I/O error")}
        self.refused(bench.install(url_of("good")))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 2)
        self.assertEqual(bench.events[-2:], ["run", "push build ok"])
        self.assertEqual(bench.installed(), [])

    def test_journal_whose_removal_is_not_durable(self):
        """It is gone unless the power fails, so it is done."""
        end = Journal.end

        def not_durable(journal):
            end(journal)
            raise OSError(5, "I/O error")

        self.bench.publish("good")
        with mock.patch.object(Journal, "end", not_durable):
            self.successResultOf(self.bench.install(url_of("good")))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.successResultOf(self.bench.uninstall("good"))

    def test_uninstall_that_the_file_has(self):
        """It is done, although it is not known to be durable."""
        bench = self.bench
        bench.publish("good")
        self.successResultOf(bench.install(url_of("good")))
        replace = Generations.replace
        failing = [NotDurableError(5, "I/O error")]

        def not_durable(file, pieces):
            replace(file, pieces)
            while failing:
                raise failing.pop()

        with mock.patch.object(Generations, "replace", not_durable):
            self.successResultOf(bench.uninstall("good"))
        self.assertEqual(bench.installed(), [])
        self.assertFalse(bench.journal.exists())


LEFT_OUT = Report(ok=True, duration_ms=1, plugins=[], errors=[])
