"""Builds of the installed plugins, one run at a time."""

from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred, succeed
from twisted.logger import capturedLogs, formatEvent

from bridge.plugins.installed.exchange import recover
from bridge.plugins.installed.records import read_records, recorded
from bridge.plugins.installed.trees import PluginList
from bridge.protocol.errors import BridgeError, unavailable
from bridge.protocol.limits import BUILD_END_SECONDS
from bridge.protocol.wire import unstructure

from .bench import NOW, Bench, OperationTestCase, files_of, url_of, write_tree

BUILT = ["run first second", "push build ok first second"]


class RebuildTestCase(OperationTestCase):
    """A test with two installed plugins."""

    def setUp(self) -> None:
        super().setUp()
        self.rebuild = self.bench.rebuild
        for name in ("first", "second"):
            self.bench.publish(name)
            self.done("install", url_of(name))
        self.start()

    def build(self) -> Any:
        return self.successResultOf(self.rebuild.ask())

    def hold(self, gate: Deferred[Any]) -> Deferred[Any]:
        self.bench.builder.outcomes = [gate]
        return gate


class RunTests(RebuildTestCase):
    def test_attack_changed_tree(self) -> None:
        """A changed tree, or a signed older one, is left out, and fails no other."""
        tree = self.bench.data.plugin("first")
        for change, why in (
            (lambda: (tree / "main.ts").write_text("steal();"), "unsigned: "),
            (
                lambda: write_tree(tree, files_of("first"), "first", signed_at=NOW - 1),
                "downgrade: ",
            ),
        ):
            change()
            report = self.build()
            self.assertEqual((report.ok, report.plugins), (True, ["second"]))
            (error,) = report.errors
            self.assertTrue(error.startswith(f"first is left out: {why}"), error)
        # What failed the build comes before that.
        self.bench.builder.outcomes = ["no such module"]
        report = self.build()
        self.assertFalse(report.ok)
        self.assertEqual((report.errors[0], len(report.errors)), ("no such module", 2))

    def test_sound_again(self) -> None:
        """What a build could not read is listed as left out, and built once more."""
        tree, records = self.bench.data.plugin("first"), read_records(self.bench.store)
        aside = tree.rename(tree.with_name("aside"))
        self.build()
        aside.rename(tree)
        self.bench.builder.outcomes = ["no room"]  # what is published stays so
        self.build()
        self.start()
        gate = self.hold(Deferred())
        sound = self.bench.trees.listing(records)
        for _ in range(2):
            listing = self.rebuild.completed(sound)
            (broken,) = listing.broken
            self.assertIn("build_failed: the last build left it out: ", broken.reason)
            self.assertEqual(broken.reason, listing.plugins[0].problem)
        linked = PluginList([evolve(one, dev=True) for one in sound.plugins], [])
        self.assertEqual(self.rebuild.completed(linked), linked)
        gate.callback(None)
        self.assertEqual(self.rebuild.completed(sound), sound)
        self.assertEqual(self.events, BUILT)

    def test_owed(self) -> None:
        """After the end of one that failed, who comes after a while has it redone."""

        def slowly(work: Any) -> Deferred[Any]:
            self.bench.clock.advance(60)
            return succeed(work())

        self.bench.builder.in_thread = slowly
        self.bench.builder.outcomes = ["no\nroom", "no room"]
        self.build()
        self.assertTrue(self.rebuild.owed.endswith("failed: no room"))
        for waits, runs in ((9, 0), (1, 1), (9, 0), (1, 1), (10, 0)):
            self.start()
            self.bench.clock.advance(waits)
            self.rebuild.completed(PluginList([], []))
            self.assertEqual(self.events.count(BUILT[0]), runs)
        self.assertEqual(self.rebuild.owed, "")

    def test_defects(self) -> None:
        """A builder that breaks fails that run alone, a sink not even that."""
        self.bench.builder.outcomes = [ZeroDivisionError()]
        self.failureResultOf(self.rebuild.ask(), ZeroDivisionError)
        self.assertTrue(self.build().ok)
        self.patch(type(self.bench.sink), "built", lambda *_: 1 / 0)
        for _ in range(2):
            self.assertTrue(self.build().ok)
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_begun_by_a_start(self) -> None:
        """Its report is pushed as any other; none that fails keeps it from starting."""
        self.rebuild.begin()
        self.assertEqual(self.events, BUILT)
        self.bench.builder.outcomes = ["broken", unavailable("no thread")]
        with capturedLogs() as logged:
            self.rebuild.begin()
            self.rebuild.begin()
            self.rebuild.close()
            self.rebuild.begin()
        self.assertEqual(
            [formatEvent(event) for event in logged],
            ["broken", "there was no build: no thread"],
        )


class CoalescingTests(RebuildTestCase):
    def test_one_more_run_for_all_who_asked_meanwhile(self) -> None:
        """However many ask, or go, during a run, one follows that sees the newest."""
        gate = self.hold(Deferred())
        gone = self.rebuild.ask().addErrback(lambda _: None)
        write_tree(self.bench.data.plugin("third"), files_of("third"), "third")
        record = recorded(self.bench.store, "first")
        self.commit(record.put("third"))
        others = [self.rebuild.ask() for _ in range(5)]
        gone.cancel()
        self.assertNoResult(others[0])
        gate.callback(None)
        for one in others:
            report = self.successResultOf(one)
            self.assertEqual(report.plugins, ["first", "second", "third"])
            self.assertEqual(self.bench.pushed["build"][-1], unstructure(report))
        ids = "first second third"
        self.assertEqual(self.events, [*BUILT, f"run {ids}", f"push build ok {ids}"])

    def test_lock(self) -> None:
        """Nothing is built while it is held; then one run is for all who asked."""
        self.successResultOf(self.bench.jobs.commit_lock.acquire())
        asked = [self.rebuild.ask() for _ in range(2)]
        self.rebuild.begin()
        self.assertEqual(self.events, [])
        self.bench.jobs.commit_lock.release()
        for one in asked:
            self.successResultOf(one)
        self.assertEqual(self.events, BUILT)


class EndingTests(RebuildTestCase):
    """Tests for a daemon that ends while a bundler works, or hangs."""

    def setUp(self) -> None:
        super().setUp()
        self.killed: list[Any] = []
        self.hanging = self.hold(Deferred(self.killed.append))

    def ending(self, unlink: Any = lambda: succeed(None)) -> Deferred[None]:
        ending = self.bench.settlement.close(unlink, self.bench.clock)
        return Deferred.fromCoroutine(ending)

    def end(self, *unlink: Any) -> None:
        """Begin to end the daemon, and wait as long as a build may take then."""
        ended = self.ending(*unlink)
        self.assertEqual(self.killed, [])
        self.bench.clock.advance(BUILD_END_SECONDS)
        self.assertEqual(self.killed, [self.hanging])
        self.successResultOf(ended)

    def assert_unavailable(self, asked: Deferred[Any]) -> None:
        error = self.failureResultOf(asked, BridgeError).value
        self.assertEqual(error.code, "unavailable")

    def test_attack_bundler_that_hangs(self) -> None:
        """What hangs is killed; who waits for it, and for the next, learns why."""
        self.bench.pushed.clear()
        waiting = [self.rebuild.ask() for _ in range(2)]
        self.end()
        for run in [*waiting, self.rebuild.ask()]:
            self.assert_unavailable(run)
        self.assertEqual(self.bench.pushed["build"], [])

    def test_attack_bundler_that_hangs_without_linked_trees(self) -> None:
        """It is killed as well when the build is that which leaves these out."""
        self.end(lambda: self.rebuild.ask().addErrback(id))

    def test_build_that_ends(self) -> None:
        """A build that ends by itself is waited for; nothing is killed, or begins."""
        building = self.rebuild.ask()
        ended = self.ending()
        self.assertNoResult(ended)
        self.hanging.callback(None)
        self.successResultOf(ended)
        self.assertTrue(self.successResultOf(building).ok)
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])
        self.assert_unavailable(self.rebuild.ask())
        self.assert_unavailable(self.ask("uninstall", "first"))

    def test_install(self) -> None:
        """An install is undone; the journal has the next start build the rest."""
        self.bench.publish("good")
        installing = self.ask("install", url_of("good"))
        self.end()
        self.assert_unavailable(installing)
        self.assertEqual(self.bench.left()[0], ["first", "second"])
        self.assert_next_start_builds("first second")

    def test_uninstall(self) -> None:
        """An uninstall stays done; the next start builds without the plugin."""
        uninstalling = self.ask("uninstall", "first")
        self.end()
        self.successResultOf(uninstalling)
        self.assert_next_start_builds("second")

    def assert_next_start_builds(self, ids: str) -> None:
        bench = Bench(at=self.bench.data.root.parent)
        found = recover(bench.journal, bench.store, bench.trees)
        bench.settlement.resume(found)
        self.assertEqual(bench.events[-1], f"push build ok {ids}")
        self.assertFalse(bench.journal.exists())
        self.assertEqual(bench.left()[0], ids.split())
