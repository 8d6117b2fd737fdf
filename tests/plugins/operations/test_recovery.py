"""Operations that are killed, or fail."""

import json
import os
from typing import Any
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed.exchange import (
    Exchange,
    JournalError,
    notice_of,
    recover,
)
from bridge.protocol.errors import BridgeError, Code

from ...disk import going_wrong
from ...programs import python
from .bench import OTHER_SEED, Bench, OperationTestCase, url_of, write_tree


class InterruptedTests(SynchronousTestCase):
    """
    Operations that are interrupted in every way; see ``crashes``.

    After a new start: is the old or the new set there, whole, with its records, keys,
    marks, settings and bundle, and no other file?
    """

    def test_in_every_way(self):
        """
        One is done or not, wherever it and its recovery are interrupted.

        What can't be built is rolled back, by a start at the latest.
        """
        expected = {
            "install": (24, 0),
            "install broken": (48, 0),
            "update": (35, 80),
            "update broken": (55, 175),
            "uninstall": (25, 0),
        }
        done = python("-m", "tests.plugins.operations.crashes", *expected)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        found: dict[str, dict[str, tuple[int, int]]] = json.loads(done.stdout)
        for words, (calls, of_recoveries) in expected.items():
            numbers = found[words]
            for way, (old, new) in numbers.items():
                if "broken" in words:
                    self.assertEqual(new, 0, way)
                elif way != "killed in the recovery":
                    self.assertGreater(min(old, new), 0, way)
            self.assertGreater(sum(numbers["killed at a call"]), calls)
            recoveries = sum(numbers["killed in the recovery"])
            self.assertGreaterEqual(recoveries, of_recoveries)


class OrderTests(SynchronousTestCase):
    def test_each_step_is_durable_before_the_next(self):
        """Files, journal, renames and state reach the disk one after the other."""
        bench = Bench(self)
        bench.publish("good", {"src/deep/part.ts": "export {};\n"})
        with going_wrong(None) as watched:
            self.successResultOf(bench.install(url_of("good")))
        calls = [name for name, _ in watched.calls]
        moved = watched.calls.index(("rename", "good"))
        begun = watched.calls.index(("replace", "journal"))
        recorded = watched.calls.index(("replace", "state.json"))
        ended = watched.calls.index(("unlink", "journal"))
        self.assertTrue(begun < moved < recorded < ended)
        # 4 files, their 3 folders, and the journal itself.
        self.assertEqual(calls[:begun].count("fsync"), 8)
        for after in (begun, moved, recorded, ended):
            self.assertEqual(calls[after + 1], "fsync")


class RecoverTests(OperationTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.bench.publish("good")
        self.done("install", url_of("good"))
        self.start()

    def recover(self) -> Any:
        """Recover; what was under way."""
        return recover(self.bench.journal, self.bench.store, self.bench.trees)

    def restart(self, last: str) -> Any:
        """Be killed while a build hangs, and start again; what was under way."""
        self.assertEqual((self.bench.builder.outcomes, self.events[-1]), ([], last))
        self.bench = Bench(at=self.bench.data.root.parent)
        self.events = self.bench.events
        return self.recover()

    def interrupted_update(self) -> None:
        """Leave what an interrupted update leaves."""
        aside = self.bench.data.plugins / ".tmp-0b"
        self.bench.data.plugin("good").rename(aside)
        write_tree((self.bench.data.plugins / ".tmp-0a"), {"main.ts": ""}, None)
        update = Exchange("update", "good", ".tmp-0a", aside.name, {"url": "new"})
        self.bench.journal.begin(update)

    def interrupted_install(self) -> Any:
        """Begin an install by a new author, whose build does not end; start again."""
        self.bench.publish("other", seed=OTHER_SEED)
        self.bench.builder.outcomes = [Deferred()]
        self.ask("install", url_of("other")).addErrback(lambda _: None)
        return self.restart("run good other")

    def build(self, recovered: Any) -> None:
        self.bench.settlement.resume(recovered)

    def test_nothing_was_under_way(self) -> None:
        """Strays go, and nothing is built."""
        (self.bench.data.plugins / ".tmp-0a").mkdir()
        stray = self.bench.data.root / "journal.tmp"
        stray.write_text("{")
        self.assertIsNone(self.recover())
        self.bench.journal.end()  # of nothing
        self.assertEqual(self.state(), self.before)
        self.assertFalse(stray.exists())

    def test_failed_build(self) -> None:
        """It is reported, and made again: by the next operation, or the next start."""
        self.interrupted_update()
        self.bench.builder.outcomes = ["no bundler"]
        recovered = self.recover()
        self.assertEqual(
            notice_of(recovered, self.bench.store),
            "the update of good was interrupted, and was rolled back; the bundle is "
            "built again",
        )
        self.build(recovered)
        self.assertEqual(self.events[-1], "push build failed good")
        self.assertTrue(self.bench.journal.exists())
        self.bench.builder.outcomes = ["no bundler", "no bundler"]
        self.done("uninstall", "good")
        self.assertEqual(self.bench.left()[0], [])
        self.assertFalse(self.bench.journal.exists())

    def test_install(self) -> None:
        """What was not built is not installed, whatever can be built now."""
        recovered = self.interrupted_install()
        self.assertFalse(recovered.is_done(self.bench.store))
        self.assertEqual(self.state(), (*self.before[:3], True))
        self.build(recovered)
        self.assertEqual(
            self.events,
            ["rollback", "push plugins good", "run good", "push build ok good"],
        )
        self.assertEqual({p["id"] for p in self.bench.pushed["progress"]}, {None})
        self.assertEqual(self.state(), self.before)
        (running,) = self.bench.jobs.recent()
        self.assertEqual(running.error.code, Code.UNAVAILABLE)
        # Nor is it in the generation before.
        previous = self.bench.data.state.with_name("state.json.bak")
        self.assertEqual(previous.read_bytes(), self.bench.data.state.read_bytes())
        self.assertNotIn(b"other", previous.read_bytes())

    def test_uninstall(self) -> None:
        """Of an uninstall, the state decides: it is finished."""
        self.bench.builder.outcomes = [Deferred()]
        self.ask("uninstall", "good").addErrback(lambda _: None)
        recovered = self.restart("run")
        notice = notice_of(recovered, self.bench.store)
        self.assertIn("interrupted, and was finished", notice)
        self.build(recovered)
        self.assertEqual(
            self.events, ["push plugins", "uninstall build", "run", "push build ok"]
        )
        self.assertEqual(self.bench.pushed["progress"][0]["id"], "good")
        self.assertEqual(self.bench.left()[0], [])
        self.assertFalse(self.bench.journal.exists())

    def test_uninstall_without_its_state(self) -> None:
        """When both generations are damaged nobody knows, so the tree stays."""
        for place in (True, False):
            bench, tree = self.bench, self.bench.data.plugin("good")
            bench.journal.begin(Exchange("uninstall", "good", None, ".tmp-0a", None))
            if not place:
                tree.rename(bench.data.plugins / ".tmp-0a")
            for name in ("state.json", "state.json.bak"):
                (bench.data.root / name).write_bytes(b"trunca")
            self.bench = Bench(at=bench.data.root.parent)
            self.assertIsNone(self.recover())
            self.assertEqual(os.listdir(bench.data.plugins), ["good"])
            self.assertFalse(bench.journal.exists())

    def test_plugin_that_is_busy_with_it(self) -> None:
        """An operation on the same plugin waits until it is known what is installed."""
        recovered = self.interrupted_install()
        gate: Deferred[Any] = Deferred()
        self.bench.builder.outcomes = [gate]
        self.build(recovered)
        settling, *_ = self.bench.jobs.recent()
        self.assertFalse(settling.cancellable)
        updating = self.ask("update", "other")
        self.assertNoResult(updating)
        self.assertTrue(self.bench.jobs.commit_lock.locked)
        gate.errback(BridgeError(Code.INTERNAL, "gone"))
        self.assertTrue(self.error(updating).startswith("not_installed: "))

    def test_full_disk(self) -> None:
        """The start says why what was interrupted can't be settled."""
        self.interrupted_update()
        full = OSError(28, os.strerror(28))
        with (
            mock.patch.object(Exchange, "undo", side_effect=full),
            self.assertRaisesRegex(JournalError, f"settled: {os.strerror(28)}"),
        ):
            self.recover()

    def test_unusable(self) -> None:
        """A foreign journal, or something in the way, ends the start as it is."""
        self.interrupted_update()
        journal = self.bench.data.journal
        left = journal.with_name("journal.tmp")
        left.mkdir()
        self.assertRaisesRegex(JournalError, f"{left} cannot be", self.recover)
        left.rmdir()
        for spoil, why in (
            (lambda: self.bench.data.plugin("good").mkdir(), "in the way in plugins/"),
            (lambda: journal.write_text("{}"), "is not a journal of this version"),
        ):
            spoil()
            before = self.bench.left()
            self.assertRaisesRegex(JournalError, why, self.recover)
            self.assertEqual(self.bench.left(), before)
        with mock.patch("os.open", side_effect=PermissionError(13, "Denied")):
            self.assertRaisesRegex(JournalError, "be read: Denied$", self.recover)
