"""Operations that are killed, or fail."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed import exchange, journal
from bridge.plugins.installed.exchange import Exchange
from bridge.plugins.installed.journal import JournalError
from bridge.plugins.installed.records import read_records
from bridge.plugins.operations.recovery import RecoveredBuild, recover
from bridge.protocol.errors import BridgeError, Code
from bridge.store import Put
from bridge.store.generations import Generations

from ...store.faults import FaultyOs, running_on
from .bench import OTHER_SEED, Bench, files_of, manifest, url_of, write_tree

ROOT = Path(__file__).parents[3]


class InterruptedTests(SynchronousTestCase):
    """
    Tests that interrupt an operation in every way; see ``crashes``.

    Each asks after a new start: is the old or the new set there, whole, with its
    records, keys, marks, settings and bundle, and no other file?
    """

    def interrupt(self, *operation: str) -> dict[str, tuple[int, int]]:
        """Interrupt it; by the way, how often the set was old, and new."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.plugins.operations.crashes", *operation],
            check=False,
            capture_output=True,
            text=True,
            cwd=ROOT,
            # What runs there hundreds of times runs in this process, too: measuring
            # its coverage there would only double the time.
            env={k: v for k, v in os.environ.items() if not k.startswith("COV")},
        )
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        numbers: dict[str, tuple[int, int]] = json.loads(done.stdout)
        for way, (old, new) in numbers.items():
            if "broken" in operation:
                # What can't be built is rolled back, by a start at the latest.
                self.assertEqual(new, 0, way)
            elif way != "killed in the recovery":
                self.assertGreater(min(old, new), 0, way)
        return numbers

    def test_install(self):
        """An install is done or not, wherever it is interrupted."""
        old, new = self.interrupt("install")["killed at a call"]
        self.assertGreater(old + new, 25)

    def test_install_that_is_taken_back(self):
        """One whose build fails is never done, wherever it is interrupted."""
        self.interrupt("install", "broken")

    def test_update(self):
        """An update is done or not, wherever it and its recovery are interrupted."""
        numbers = self.interrupt("update")
        self.assertGreater(sum(numbers["killed at a call"]), 40)
        self.assertGreater(sum(numbers["killed in the recovery"]), 80)

    def test_update_that_is_taken_back(self):
        """One whose build fails leaves the old tree, wherever it is interrupted."""
        self.interrupt("update", "broken")

    def test_uninstall(self):
        """A plugin is uninstalled or not, wherever that is interrupted."""
        self.interrupt("uninstall")


class UncertainFileTests(SynchronousTestCase):
    """Tests for a disk that fails just as the records are written."""

    def setUp(self):
        """Install a plugin."""
        self.bench = Bench(self)
        self.bench.publish("good")
        self.successResultOf(self.bench.installer.install(url_of("good")))
        self.before = self.bench.left()

    def fail_to_record(self, operation, times):
        """
        Begin an operation whose records are written, but not known to be.

        :param times: How many writes fail so, the first one included.
        """
        replace = Generations.replace
        failing = [OSError(errno.EIO, "I/O error")] * times

        def written(generations, pieces):
            replace(generations, pieces)
            if failing:
                raise failing.pop()

        with mock.patch.object(Generations, "replace", written):
            error = self.failureResultOf(operation(), BridgeError).value
        self.assertEqual(error.code, Code.INTERNAL)
        self.flushLoggedErrors()

    def start_again(self):
        """Start on what a kill leaves."""
        self.bench = bench = Bench(at=self.bench.data.root.parent)
        recovered = recover(bench.journal, bench.store, bench.trees)
        if recovered is not None:
            RecoveredBuild(bench.operations, bench.change).begin(recovered)

    def assert_whole(self):
        """There is a sound tree for each record, and nothing else."""
        records = read_records(self.bench.store)
        sound, faults = self.bench.trees.sort_out(records)
        self.assertEqual(faults, {})
        self.assertEqual(self.bench.left()[0], list(sound))
        self.assertFalse(self.bench.journal.exists())

    def operations(self):
        """One of each kind."""
        bench = self.bench
        bench.clock.advance(60)
        bench.publish("other", seed=OTHER_SEED)
        later = manifest("good", version="1.1.0")
        bench.publish("good", files_of("good", **{"plugin.json": later}))
        return (
            lambda: self.bench.installer.install(url_of("other")),
            lambda: self.bench.updater.update("good"),
            lambda: self.bench.uninstaller.uninstall("good"),
        )

    def test_rolled_back_in_the_file_too(self):
        """A killed daemon has the old set, as its last answer was."""
        for operation in self.operations():
            self.fail_to_record(operation, 1)
            self.assertEqual(self.bench.left(), self.before)
            self.start_again()
            self.assertEqual(self.bench.left(), self.before)
            self.assert_whole()

    def test_file_that_cannot_be_written_again(self):
        """A killed daemon has the old set or the new one, but no mixture."""
        for operation in self.operations():
            self.fail_to_record(operation, 2)
            self.start_again()
            self.assert_whole()

    def test_next_operation(self):
        """It settles what the one before it left."""
        install, _, uninstall = self.operations()
        self.fail_to_record(install, 2)
        self.successResultOf(uninstall())
        self.assertEqual(self.bench.installed(), [])
        self.assert_whole()
        self.start_again()
        self.assert_whole()


class OrderTests(SynchronousTestCase):
    """Tests for what a loss of power leaves."""

    def test_each_step_is_durable_before_the_next(self):
        """Files, journal, renames and state reach the disk one after the other."""
        bench = Bench(self)
        bench.publish("good")
        faulty = FaultyOs()
        with running_on(faulty, exchange, journal):
            self.successResultOf(bench.installer.install(url_of("good")))
        calls = [name for name, _ in faulty.calls]
        moved = faulty.calls.index(("rename", "good"))
        begun = faulty.calls.index(("replace", "journal"))
        recorded = faulty.calls.index(("replace", "state.json"))
        ended = faulty.calls.index(("unlink", "journal"))
        self.assertTrue(begun < moved < recorded < ended)
        self.assertEqual(calls[:begun].count("fsync"), 5)  # 3 files, their folder, it
        for after in (begun, moved, recorded, ended):
            self.assertEqual(calls[after + 1 : after + 3], ["open", "fsync"])


class RecoverTests(SynchronousTestCase):
    """Tests for ``recover`` and ``RecoveredBuild``."""

    def setUp(self):
        """Install a plugin."""
        self.bench = Bench(self)
        self.bench.publish("good")
        self.successResultOf(self.bench.installer.install(url_of("good")))
        self.bench.events.clear()

    def recover(self):
        """Recover."""
        return recover(self.bench.journal, self.bench.store, self.bench.trees)

    def interrupt(self):
        """Leave what an interrupted update leaves."""
        aside = self.bench.data.temporary_clone("0b")
        self.bench.data.plugin("good").rename(aside)
        write_tree(self.bench.data.temporary_clone("0a"), {"main.ts": ""}, None)
        update = Exchange("update", "good", ".tmp-0a", aside.name, {"url": "new"})
        self.bench.journal.begin(update)
        return update

    def build(self, recovered):
        """Build after a recovery."""
        RecoveredBuild(self.bench.operations, self.bench.change).begin(recovered)

    def test_nothing_was_under_way(self):
        """Strays go, and nothing is built."""
        self.bench.data.temporary_clone("0a").mkdir()
        self.bench.data.root.joinpath("journal.tmp").write_text("{")
        before = self.bench.left()[1]
        self.assertIsNone(self.recover())
        self.assertEqual(self.bench.left(), (["good"], before))
        self.assertFalse(self.bench.data.root.joinpath("journal.tmp").exists())

    def test_notice(self):
        """The operator learns what was interrupted, and what became of it."""
        self.interrupt()
        recovered = self.recover()
        assert recovered is not None
        self.assertFalse(recovered.finished)
        self.assertEqual(
            recovered.notice,
            "the update of good was interrupted, and was rolled back; the bundle is "
            "built again",
        )

    def test_build(self):
        """The bundle is built, nothing else commits meanwhile; the journal goes."""
        self.interrupt()
        recovered = self.recover()
        gate: Deferred[Any] = Deferred()
        self.bench.builder.outcomes = [gate]
        self.build(recovered)
        uninstalling = self.bench.uninstaller.uninstall("good")
        self.assertNotIn("ask uninstall", self.bench.events)
        self.assertTrue(self.bench.journal.exists())
        gate.callback(None)
        self.successResultOf(uninstalling)
        self.assertFalse(self.bench.journal.exists())
        self.assertEqual(self.bench.left()[0], [])

    def test_failed_build(self):
        """A failed build is reported to the pages, and the journal goes."""
        self.interrupt()
        recovered = self.recover()
        self.bench.builder.outcomes = ["no bundler"]
        self.build(recovered)
        self.assertEqual(self.bench.events[-1], "push build failed good")
        self.assertFalse(self.bench.journal.exists())

    def test_no_build(self):
        """A daemon that is shut down before its build leaves that to the next."""
        self.interrupt()
        recovered = self.recover()
        self.successResultOf(self.bench.rebuild.close())
        self.build(recovered)
        self.assertTrue(self.bench.journal.exists())
        self.assertFalse(self.bench.operations.commit_lock.locked)

    def interrupted_build(self):
        """Begin an install by a new author, whose build does not end; start again."""
        bench = self.bench
        bench.publish("other", seed=OTHER_SEED)
        self.before = bench.left()
        hanging = bench.builder.outcomes = [Deferred()]
        begun = bench.installer.install(url_of("other"))
        self.assertEqual((hanging, bench.events[-1]), ([], "run good other"))
        begun.addErrback(lambda _: None)
        self.bench = bench = Bench(at=bench.data.root.parent)
        self.assertEqual(bench.installed(), ["good", "other"])
        return self.recover()

    def test_new_tree_is_built(self):
        """What was to be built is built, reported, and then nothing is left to undo."""
        recovered = self.interrupted_build()
        assert recovered is not None
        self.assertTrue(recovered.finished)
        self.build(recovered)
        self.assertEqual(
            self.bench.events, ["build", "run good other", "push build ok good other"]
        )
        self.assertEqual({p.id for p in self.bench.audience.progresses}, {None})
        self.assertEqual(self.bench.left()[0], ["good", "other"])
        self.assertFalse(self.bench.journal.exists())

    def test_new_tree_that_does_not_build(self):
        """It is rolled back, as it would have been by the daemon that was killed."""
        recovered = self.interrupted_build()
        settings = [Put("plugin:other", "colour", "red")]
        self.successResultOf(self.bench.store.commit(settings))
        self.bench.builder.outcomes = ["no such module"]
        self.build(recovered)
        self.assertEqual(
            self.bench.events,
            [
                "build",
                "run good other",
                "push build failed good other",
                "rollback",
                "push plugins good",
                "run good",
                "push build ok good",
            ],
        )
        self.assertEqual(self.bench.left(), self.before)
        self.assertFalse(self.bench.journal.exists())

    def test_old_tree_is_kept_until_then(self):
        """An update that does not build after a start is rolled back, the tree too."""
        bench = self.bench
        bench.clock.advance(60)
        text = manifest("good", version="1.1.0")
        bench.publish("good", files_of("good", **{"plugin.json": text}))
        before = bench.left()
        bench.builder.outcomes = [Deferred()]
        bench.updater.update("good").addErrback(lambda _: None)
        self.bench = bench = Bench(at=bench.data.root.parent)
        recovered = self.recover()
        self.assertEqual(len(bench.left()[0]), 2)
        self.assertEqual(self.version(), "1.1.0")
        bench.builder.outcomes = ["no such module"]
        self.build(recovered)
        self.assertEqual(self.version(), "1.0.0")
        self.assertEqual(bench.left(), before)

    def version(self):
        """The version of the tree in place."""
        found = self.bench.trees.manifest("good")
        return found and found.version

    def test_plugin_that_is_busy_with_it(self):
        """An operation on the same plugin waits until it is known what is installed."""
        recovered = self.interrupted_build()
        gate: Deferred[Any] = Deferred()
        self.bench.builder.outcomes = [gate]
        self.build(recovered)
        updating = self.bench.updater.update("other")
        self.assertEqual(self.bench.approver.prompts, [])
        gate.errback(BridgeError(Code.INTERNAL, "gone"))
        error = self.failureResultOf(updating, BridgeError).value
        self.assertTrue(error.message.startswith("not_installed: "))

    def test_stray_that_cannot_be_removed(self):
        """It is logged, and does not keep the daemon from its work."""
        self.interrupt()
        with mock.patch.object(shutil, "rmtree", side_effect=OSError(5, "I/O error")):
            self.assertIsNotNone(self.recover())
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_foreign_journal(self):
        """What is no journal ends the start, and nothing is removed."""
        self.interrupt()
        self.bench.data.journal.write_text("{}")
        before = self.bench.left()
        self.assertRaises(JournalError, self.recover)
        self.assertEqual(self.bench.left(), before)

    def test_something_in_the_way(self):
        """Where a tree should go and something is, nothing is removed or replaced."""
        self.interrupt()
        self.bench.data.plugin("good").mkdir()
        before = self.bench.left()
        with self.assertRaises(JournalError) as caught:
            self.recover()
        self.assertEqual(
            str(caught.exception),
            "the interrupted update of good cannot be settled: something is in the "
            "way in plugins/",
        )
        self.assertEqual(self.bench.left(), before)
