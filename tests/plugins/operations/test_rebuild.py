"""Tests for ``bridge.plugins.operations.rebuild``."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed.records import Record
from bridge.plugins.operations.rebuild import Shutdown
from bridge.plugins.operations.settlement import recover
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import BUILD_END_SECONDS

from .bench import COMMIT, KEY, NOW, Bench, files_of, url_of, write_tree


class RebuildTestCase(SynchronousTestCase):
    """A test with two installed plugins."""

    def setUp(self):
        """Install them."""
        self.bench = Bench(self)
        self.rebuild = self.bench.rebuild
        self.builder = self.bench.builder
        self.events = self.bench.events
        for plugin_id in ("first", "second"):
            self.install(plugin_id)

    def install(self, plugin_id):
        """Write a tree and its record."""
        write_tree(self.bench.data.plugin(plugin_id), files_of(plugin_id), plugin_id)
        record = Record(url_of(plugin_id), COMMIT, KEY, NOW, 1, 1)
        self.successResultOf(self.bench.store.commit([record.put(plugin_id)]))


class RunTests(RebuildTestCase):
    """Tests for one build."""

    def answered(self, report):
        """Write the answer into the events."""
        self.events.append("answer")
        return report

    def test_every_recorded_plugin_is_built(self):
        """The bundle is built of all plugins; pages hear of it before the caller."""
        building = self.rebuild.build()
        building.addCallback(self.answered)
        report = self.successResultOf(building)
        self.assertEqual(report.plugins, ["first", "second"])
        self.assertEqual(
            self.events,
            ["run first second", "push build ok first second", "answer"],
        )

    def test_code_changed_after_installation_is_not_built(self):
        """A changed tree is left out, named, and does not fail the others."""
        (self.bench.data.plugin("first") / "main.ts").write_text("steal();")
        report = self.successResultOf(self.rebuild.build())
        self.assertTrue(report.ok)
        self.assertEqual(report.plugins, ["second"])
        (error,) = report.errors
        self.assertTrue(error.startswith("first is left out: unsigned: "), error)
        self.assertEqual(self.bench.sink.reports, [report])

    def test_attack_older_tree_put_back(self):
        """An old version of a plugin, validly signed, is left out and named."""
        tree = self.bench.data.plugin("first")
        write_tree(tree, files_of("first"), "first", signed_at=NOW - 1)
        report = self.successResultOf(self.rebuild.build())
        self.assertEqual((report.ok, report.plugins), (True, ["second"]))
        (error,) = report.errors
        self.assertTrue(error.startswith("first is left out: downgrade: "), error)

    def test_every_report_is_pushed(self):
        """Pages receive a report of each build, even if it changes nothing."""
        self.builder.outcomes = [None, "broken"]
        reports = [self.successResultOf(self.rebuild.build()) for _ in range(4)]
        self.assertEqual([r.ok for r in reports], [True, False, True, True])
        self.assertEqual(self.bench.sink.reports, reports)

    def test_failed_build_reports_its_own_error_first(self):
        """What failed the build comes before what was left out of it."""
        (self.bench.data.plugin("first") / "main.ts").write_text("steal();")
        self.builder.outcomes = ["no such module"]
        report = self.successResultOf(self.rebuild.build())
        self.assertFalse(report.ok)
        self.assertEqual(report.errors[0], "no such module")
        self.assertEqual(len(report.errors), 2)

    def test_broken_builder(self):
        """A builder that breaks is an error of that run, and of no other."""
        self.builder.outcomes = [ZeroDivisionError()]
        self.failureResultOf(self.rebuild.build(), ZeroDivisionError)
        self.assertTrue(self.successResultOf(self.rebuild.build()).ok)

    def test_broken_sink(self):
        """A report that can't be pushed is logged, and given to who asked."""
        self.patch(type(self.rebuild._sink), "built", lambda *_: 1 / 0)
        for _ in range(2):
            report = self.successResultOf(self.rebuild.build())
            self.assertTrue(report.ok)
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_cancelled_waiter(self):
        """A caller that has gone away ends no build."""
        gate: Deferred[Any] = Deferred()
        self.builder.outcomes = [gate]
        gone, other = self.rebuild.build(), None
        gone.addErrback(lambda failure: None)
        gone.cancel()
        other = self.rebuild.build()
        gate.callback(None)
        self.assertTrue(self.successResultOf(other).ok)
        self.assertEqual(len(self.bench.sink.reports), 2)


class CoalescingTests(RebuildTestCase):
    """Tests for several builds asked for at once."""

    def test_one_more_run_for_all_who_asked_meanwhile(self):
        """However many ask during a run, one run follows, and it sees the newest."""
        gate: Deferred[Any] = Deferred()
        self.builder.outcomes = [gate]
        first = self.rebuild.build()
        self.install("third")
        others = [self.rebuild.build() for _ in range(5)]
        self.assertNoResult(first)
        gate.callback(None)
        self.assertEqual(self.successResultOf(first).plugins, ["first", "second"])
        for other in others:
            self.assertEqual(
                self.successResultOf(other).plugins, ["first", "second", "third"]
            )
        self.assertEqual(
            self.events,
            [
                "run first second",
                "push build ok first second",
                "run first second third",
                "push build ok first second third",
            ],
        )

    def test_run_asked_for_by_an_answer(self):
        """A caller that asks again as soon as it is answered gets another run."""
        again = self.rebuild.build().addCallback(lambda _: self.rebuild.build())
        self.successResultOf(again)
        self.assertEqual(self.events.count("run first second"), 2)


class BeforeTests(RebuildTestCase):
    """Tests for what is done between builds."""

    def test_nothing_is_built_meanwhile(self):
        """It is done after the build under way and before the next."""
        first: Deferred[Any] = Deferred()
        self.builder.outcomes = [first]

        async def before():
            self.bench.events.append("before")

        self.rebuild.build()
        asked = self.rebuild.build(before=before)
        self.assertNotIn("before", self.bench.events)
        first.callback(None)
        self.successResultOf(asked)
        order = [e for e in self.bench.events if not e.startswith("push")]
        self.assertEqual(order, ["run first second", "before", "run first second"])

    def test_failure(self):
        """When it fails, nothing is built, and all callers get the error."""

        async def before():
            raise OSError(5, "I/O error")

        self.failureResultOf(self.rebuild.build(before=before), OSError)
        self.assertEqual(self.bench.events, [])


class CloseTests(RebuildTestCase):
    """Tests for the end."""

    def test_idle(self):
        """Nothing is waited for when nothing is built, and nothing begins."""
        self.successResultOf(self.rebuild.close())
        error = self.failureResultOf(self.rebuild.build(), BridgeError).value
        self.assertEqual(error.code, "unavailable")

    def test_build_is_finished(self):
        """A build under way is waited for."""
        gate: Deferred[Any] = Deferred()
        self.builder.outcomes = [gate]
        building = self.rebuild.build()
        closing = self.rebuild.close()
        self.assertNoResult(closing)
        gate.callback(None)
        self.successResultOf(closing)
        self.assertTrue(self.successResultOf(building).ok)


class EndingTests(RebuildTestCase):
    """Tests for a daemon that ends while a bundler hangs."""

    def setUp(self):
        """Let a build hang until it is killed."""
        super().setUp()
        self.killed: list[Any] = []
        self.hanging: Deferred[Any] = Deferred(self.killed.append)
        self.builder.outcomes = [self.hanging]
        clock = self.bench.clock
        self.shutdown = Shutdown(self.bench.jobs, self.rebuild, clock)

    def end(self):
        """Begin to end the daemon, and wait as long as a build may take then."""
        ended = self.shutdown.close()
        self.assertEqual(self.killed, [])
        self.bench.clock.advance(BUILD_END_SECONDS)
        self.assertEqual(self.killed, [self.hanging])
        self.successResultOf(ended)

    def test_attack_bundler_that_hangs(self):
        """What hangs is killed; who waits for it, and for the next, learns why."""
        waiting = [self.rebuild.build() for _ in range(2)]
        self.end()
        for run in [*waiting, self.rebuild.build()]:
            error = self.failureResultOf(run, BridgeError).value
            self.assertEqual(error.code, "unavailable")
        self.assertEqual(self.bench.sink.reports, [])

    def test_build_that_ends(self):
        """A build that ends by itself is waited for, and nothing is killed."""
        building = self.rebuild.build()
        ended = self.shutdown.close()
        self.assertNoResult(ended)
        self.hanging.callback(None)
        self.successResultOf(ended)
        self.assertTrue(self.successResultOf(building).ok)
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])

    def test_install(self):
        """An install is undone; the journal has the next start build the rest."""
        self.bench.publish("good")
        installing = self.bench.install(url_of("good"))
        self.end()
        error = self.failureResultOf(installing, BridgeError).value
        self.assertEqual(error.code, "unavailable")
        self.assertEqual(self.bench.left()[0], ["first", "second"])
        self.assert_next_start_builds("first second")

    def test_uninstall(self):
        """An uninstall stays done; the next start builds without the plugin."""
        uninstalling = self.bench.uninstall("first")
        self.end()
        self.successResultOf(uninstalling)
        self.assert_next_start_builds("second")

    def assert_next_start_builds(self, ids):
        """Expect what a start finds, and does."""
        next_bench = Bench(at=self.bench.data.root.parent)
        found = recover(next_bench.journal, next_bench.store, next_bench.trees)
        assert found is not None
        next_bench.settlement.resume(next_bench.jobs, found)
        self.assertEqual(next_bench.events[-1], f"push build ok {ids}")
        self.assertFalse(next_bench.journal.exists())
        self.assertEqual(next_bench.left()[0], ids.split())


class BeginTests(RebuildTestCase):
    """Tests for the build of a start."""

    def test_begun(self):
        """A build is begun, and its report is pushed as any other."""
        self.bench.rebuild.begin()
        ids = "first second"
        self.assertEqual(self.bench.events, [f"run {ids}", f"push build ok {ids}"])

    def test_failed_build_is_no_failure_to_start(self):
        """When nothing can be built, the daemon starts all the same."""
        self.bench.builder.outcomes = ["broken"]
        self.bench.rebuild.begin()
        self.bench.rebuild.close()
        self.bench.rebuild.begin()
        self.assertEqual(self.flushLoggedErrors(), [])
