"""
Changes of the installed set that fail: what is taken back, at once or later.

That nothing is left of them whichever file-system call fails is in ``crashes``.
"""

from functools import partial
from unittest import mock

from attrs import evolve
from twisted.logger import capturedLogs

from bridge.plugins.installed.exchange import Exchange, Journal
from bridge.plugins.installed.records import Record, read_records
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import STATE_DAEMON_BYTES
from bridge.store.state import Generations, NotDurableError, Put

from .bench import KEY, NEW, OTHER_KEY, OTHER_SEED, OperationTestCase, url_of

OPERATIONS = (("install", url_of("fresh")), ("update", "good"))
FAILED = "build_failed: no such module"
FULL = OSError(28, "No space left on device")
BROKEN = OSError(5, "I/O error")
UNDO_FAILS = mock.patch.object(Exchange, "undo", autospec=True, side_effect=BROKEN)


class SettlementTestCase(OperationTestCase):
    """A test with ``good`` installed, and something to install or to update to."""

    def setUp(self) -> None:
        super().setUp()
        self.bench.publish("good")
        self.done("install", url_of("good"))
        self.commit(Put("plugin:good", "colour", "red"))
        self.bench.clock.advance(60)
        self.bench.publish("fresh", seed=OTHER_SEED)
        self.publish("1.1.0")
        self.start()

    def pushed_version(self) -> str:
        """The version of ``good`` that pages know of."""
        return self.bench.pushed["plugins"][-1]["plugins"][0]["version"]

    def publish(self, version: str) -> None:
        """Publish a later ``good`` by another author."""
        self.bench.publish_later(version, seed=OTHER_SEED)


class BuildTests(SettlementTestCase):
    def next_builds(self, *outcomes, before=None) -> None:
        """Let builds end so; do something right before the next one."""
        self.bench.builder.outcomes = list(outcomes)
        if before is not None:
            self.bench.threads.before = {"verify": before}

    def test_taken_back(self) -> None:
        """All is as before, key and mark too, and pages see each step."""
        for (operation, argument), p, ids in zip(
            OPERATIONS, ("", "update "), ("fresh good", "good"), strict=True
        ):
            self.next_builds("no such module")
            self.assertEqual(self.refused(operation, argument), FAILED)
            self.assertEqual(
                self.events[self.events.index(f"{p}move") + 1 :],
                [
                    f"push plugins {ids}",
                    f"{p}build",
                    f"run {ids}",
                    f"push build failed {ids}",
                    f"{p}rollback",
                    "push plugins good",
                    "run good",
                    "push build ok good",
                    "answer",
                ],
            )
            self.assertEqual(self.pushed_version(), "1.0.0")
            self.assertTrue(self.bench.trust.is_trusted(KEY))
            self.assertFalse(self.bench.trust.is_trusted(OTHER_KEY))
            # Nor is it in the generation before.
            state = self.bench.data.state
            previous = state.with_name("state.json.bak").read_text()
            self.assertEqual(previous, state.read_text())
            self.start()
        self.done("install", url_of("fresh"))
        self.assertIn("ask trust_key", self.events)

    def test_settings(self) -> None:
        """Of a new plugin they go, of another what is saved meanwhile stays."""
        for name, (operation, argument) in zip(
            ("fresh", "good"), OPERATIONS, strict=True
        ):
            saved = Put(f"plugin:{name}", "colour", "blue")
            self.next_builds("no such module", before=partial(self.commit, saved))
            self.error(self.ask(operation, argument))
        self.assertEqual(self.bench.store.entries("plugin:fresh"), {})
        self.assertEqual(self.bench.store.get("plugin:good", "colour"), "blue")
        self.commit(Put("plugin:fresh", "colour", "kept"))
        self.start()
        self.next_builds("no such module")
        self.refused("install", url_of("fresh"))

    def test_restoring_build_that_fails(self) -> None:
        """The first error is answered; the next build that succeeds ends it."""
        self.next_builds("no such module", *["no bundler"] * 3)
        self.assertEqual(self.error(self.ask("install", url_of("fresh"))), FAILED)
        self.assertEqual(self.state(), (*self.before[:3], True))
        self.assertEqual(self.events[-2:], ["push build failed good", "answer"])
        for left in (True, False):
            self.successResultOf(self.bench.rebuild.ask())
            self.assertEqual(self.state(), (*self.before[:3], left))
        self.next_builds("no such module", ZeroDivisionError())
        self.assertEqual(self.error(self.ask("install", url_of("fresh"))), FAILED)
        self.assertEqual(self.state(), (*self.before[:3], True))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_records_that_do_not_fit(self) -> None:
        """They are refused as the daemon's fault, and all is as it was."""
        large = {"x": "x" * STATE_DAEMON_BYTES}
        with mock.patch.object(Record, "fields", lambda record: large):
            self.refused("install", url_of("fresh"), code=Code.INTERNAL)

    def test_attack_code_changed_between_move_and_build(self) -> None:
        """A tree that is changed before it is built is not installed."""
        main = self.bench.data.plugin("fresh") / "main.ts"
        self.next_builds(before=lambda: main.write_text("steal();"))
        message = self.refused("install", url_of("fresh"))
        self.assertRegex(message, "^build_failed: unsigned: ")

    def test_end_on_a_slow_disk(self) -> None:
        """Nothing more is begun for a build that would be refused."""
        for step, begun in (("make_durable", False), ("begin", True)):
            with mock.patch.object(Exchange, "do") as moved:
                self.bench.threads.before = {step: self.bench.rebuild.cut_off}
                self.assertIn("shutting down", self.error(self.ask(*OPERATIONS[0])))
            moved.assert_not_called()
            self.assertEqual(self.state(), (*self.before[:3], begun))
            self.bench.rebuild._closed = False
            self.start()

    def test_linked_meanwhile(self) -> None:
        """What ``plugin-bridge dev`` has linked would be built instead of it."""
        installing = self.ask("install", url_of("fresh"), answers=[None])
        (good,) = self.bench.trees.entries(read_records(self.bench.store))
        self.bench.trees.linked["fresh"] = mock.Mock(entry=evolve(good, id="fresh"))
        self.bench.approver.open[0].callback(None)
        words = "plugin-bridge dev has linked fresh"
        self.assertIn(words, self.error(installing))
        self.assertEqual(self.state(), self.before)
        # Or right before it is built.
        linked = self.bench.trees.linked.copy()
        self.bench.trees.linked.clear()
        link = partial(self.bench.trees.linked.update, linked)
        self.bench.threads.before = {"begin": link}
        self.assertIn(words, self.refused("install", url_of("fresh")))


class UnsettledTests(SettlementTestCase):
    """Tests for what can't be taken back, since the disk fails."""

    def broken_trees(self, operation: str, argument: str) -> None:
        """Let a build fail, and the trees stay where they are."""
        self.bench.builder.outcomes = ["no such module"]
        with UNDO_FAILS:
            self.assertEqual(self.error(self.ask(operation, argument)), FAILED)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        # What is recorded now is not changed by it, and what is built has neither.
        self.assertEqual(self.state()[1], self.before[1])
        self.assertTrue(self.bench.journal.exists())

    def test_full_disk(self) -> None:
        """The old set is read, listed, built and trusted at once, and stays refused."""
        writes, full = self.bench.writes, {"replace": FULL}
        self.bench.threads.before = {"verify": lambda: setattr(writes, "failing", full)}
        self.bench.builder.outcomes = ["no such module"]
        self.assertEqual(self.error(self.ask("update", "good")), FAILED)
        self.assertEqual(self.state(), (*self.before[:3], True))
        self.assertFalse(self.bench.trust.is_trusted(OTHER_KEY))
        self.assertEqual(self.pushed_version(), "1.0.0")
        self.assertEqual(self.events[-2:], ["push build ok good", "answer"])
        with capturedLogs() as logged:
            message = self.error(self.ask("update", "good"))
        self.assertIn("could not be written: No space left", message)
        self.assertEqual(self.state(), (*self.before[:3], True))
        self.assertEqual([event for event in logged if "why" in event], [])

    def test_trees_of_an_update(self) -> None:
        """Nothing of the plugin is built until the next operation puts them back."""
        self.publish("3.0.0")
        self.broken_trees("update", "good")
        self.assertEqual(self.events[-2:], ["push build ok", "answer"])
        listing = self.bench.trees.listing(read_records(self.bench.store))
        (fault,) = listing.broken
        self.assertIn("can't be taken back yet", fault.reason)
        self.start()
        # It is compared with what is installed, not with what was refused.
        self.publish("2.0.0")
        self.assertEqual(self.done("update", "good").plugin.version, "2.0.0")
        self.assertIn("version 1.0.0", self.bench.approver.prompts[0].text)
        self.assertFalse(self.bench.journal.exists())
        self.assertEqual(self.state()[0], ["good"])

    def test_no_threads(self) -> None:
        """What was refused is not read or built; what is done stays done."""
        none = dict.fromkeys(("exists", "undo"), BridgeError(Code.UNAVAILABLE, "none"))
        threads = self.bench.threads
        threads.before = {"verify": lambda: setattr(threads, "failing", none)}
        self.bench.builder.outcomes = ["no such module"]
        self.assertEqual(self.error(self.ask("update", "good")), FAILED)
        self.assertEqual(self.events[-2:], ["push build failed good", "answer"])
        self.assertEqual(self.state()[1], self.before[1])
        records = read_records(self.bench.store)
        self.assertEqual(self.bench.trees.verified_trees(records)[0], {})
        threads.failing = {"remove": none["undo"]}
        self.done("update", "good")
        self.assertEqual(len(self.flushLoggedErrors(BridgeError)), 2)  # both old trees
        self.assertEqual((self.state()[2]["good"], self.state()[3]), (NEW, False))

    def test_tree_of_an_install(self) -> None:
        """It is not in the way of the same, or of another, which takes it out."""
        for operation, argument, names in (
            (*OPERATIONS[0], ["fresh", "good"]),
            ("update", "good", ["good"]),
        ):
            self.broken_trees(*OPERATIONS[0])
            self.assertEqual(self.events[-2:], ["push build ok good", "answer"])
            self.assertEqual(self.state()[0], ["fresh", "good"])
            self.done(operation, argument)
            self.assertEqual(self.state()[0], names)
            self.done("uninstall", names[0])
            self.start()

    def test_journal(self) -> None:
        """One that can't be begun or removed takes all back; the bundle with it."""
        self.bench.threads.failing = {"begin": FULL}
        self.refused("install", url_of("fresh"), code=Code.INTERNAL)
        self.assertNotIn("run", " ".join(self.events))
        self.bench.threads.failing = {"end": BROKEN}
        self.error(self.ask("install", url_of("fresh")))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 2)
        self.assertEqual(self.events[-3:-1], ["run good", "push build ok good"])
        self.assertEqual(self.bench.installed(), ["good"])

    def test_not_known_to_be_durable(self) -> None:
        """What is done unless the power fails is done."""
        end, replace, failing = Journal.end, Generations.replace, [NotDurableError(5)]

        def ended(journal: Journal) -> None:
            end(journal)
            raise BROKEN

        def replaced(file: Generations, pieces) -> None:
            replace(file, pieces)
            while failing:
                raise failing.pop()

        with mock.patch.object(Journal, "end", ended):
            self.done("install", url_of("fresh"))
            self.done("update", "good")
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 2)
        # The journal may be there again, and want the old one.
        self.assertEqual(len(self.state()[0]), 3)
        keys = "enabled:fresh", "grants:fresh", "grants:good"
        self.commit(*(Put("host", key, []) for key in keys))
        with mock.patch.object(Generations, "replace", replaced):
            self.done("uninstall", "fresh")
        # The page may be gone before it removes its own.
        self.assertEqual(self.bench.store.entries("host"), {"grants:good": []})
        self.assertEqual(self.bench.installed(), ["good"])
        self.assertFalse(self.bench.journal.exists())
