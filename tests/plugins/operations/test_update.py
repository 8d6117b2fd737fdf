"""Updates that succeed, or have nothing to do."""

from typing import Any

from twisted.internet.defer import Deferred

from bridge.plugins.installed.records import KEYS, MARKS, RECORDS, Record, recorded
from bridge.plugins.operations.candidate import Pin
from bridge.protocol.limits import OUTCOMES
from bridge.protocol.wire import unstructure
from bridge.store.state import Put
from bridge.system.files import remove

from ..clone.remotes import FakeRemotes, new_commits
from .bench import (
    COMMIT,
    GOOD,
    GROWN,
    KEY,
    NEW,
    NOW,
    OTHER_KEY,
    OTHER_SEED,
    ROTATED,
    SEED,
    TRUSTED,
    OperationTestCase,
    steps,
)


class UpdateTestCase(OperationTestCase):
    """A test with ``good`` installed, its settings, and a later one to update to."""

    def setUp(self) -> None:
        super().setUp()
        self.bench.publish("good", optionalPermissions=["network"])
        self.done("install", GOOD)
        self.commit(Put("plugin:good", "colour", "red"))
        self.bench.clock.advance(60)
        self.bench.publish_later()
        self.start()

    def updated(self) -> Any:
        result = self.done("update", "good")
        self.assertTrue(result.updated)
        return result.plugin


class UpdateTests(UpdateTestCase):
    def test_what_happens(self) -> None:
        """All happens in this order; tree, record, key and mark are the new ones."""
        entry = self.updated()
        self.assertEqual(
            self.events,
            [
                *steps("update", "signature"),
                "update move",
                "push plugins good",
                "update build",
                "run good",
                "push build ok good",
                "answer",
            ],
        )
        listed = {"plugins": [unstructure(entry)]}
        self.assertEqual(self.bench.pushed["plugins"], [listed])
        self.assertEqual(entry.version, "1.1.0")
        (prompt,) = self.bench.approver.prompts
        self.assertIn("Host: forge.example\n", prompt.text)
        self.assertIn(f"version 1.0.0, commit {COMMIT}", prompt.text)
        # Settings stay, and nothing else that was.
        names, values, codes, journal = self.state()
        self.assertEqual((names, codes, journal), (["good"], {"good": NEW}, False))
        record = recorded(self.bench.store, "good")
        at, now = NOW * 1000, (NOW + 60) * 1000
        self.assertEqual(record, Record(GOOD, COMMIT, KEY, NOW + 10, at, now))
        self.assertEqual(entry, self.bench.entry("good"))
        self.assertEqual(values[KEYS][KEY]["lastUsedAt"], now)
        self.assertEqual(values[MARKS], {"good": {KEY: NOW + 10}})
        self.assertEqual(values["plugin:good"], {"colour": "red"})

    def test_nothing_new(self) -> None:
        """Nothing is asked, cloned or built; a previewed commit is not looked up."""
        cases: tuple[tuple[Any, Any], ...] = (
            (new_commits(0, COMMIT), None),
            (KeyError("not asked"), Pin(COMMIT, "d" * 64)),
        )
        for answer, pin in cases:
            self.bench.cloner.answers[GOOD] = answer
            result = self.done("update", "good", pin)
            self.assertFalse(result.updated)
            self.assertEqual(result.plugin, self.bench.entry("good"))
            self.assertEqual(self.state(), self.before)
        self.assertEqual(set(self.events), {"answer"})

    def test_changed_tree_of_the_latest_commit(self) -> None:
        """A tree that was changed is put right, though its commit is the latest."""
        self.bench.cloner.answers[GOOD] = new_commits(0, COMMIT)
        (self.bench.data.plugin("good") / "main.ts").write_text("changed")
        self.updated()

    def test_same_version(self) -> None:
        """The same version, signed at the same time or later, is accepted."""
        for at in (0, 20):
            self.bench.publish_later("1.0.0", at)
            self.assertEqual(self.updated().version, "1.0.0")

    def test_clock_set_back(self) -> None:
        """An update has the time of the clock, but never that of the one before."""
        self.bench.clock.rightNow = -100
        self.bench.publish_later(at=0)
        self.updated()
        self.updated()
        record = self.bench.store.entries(RECORDS)["good"]
        self.assertEqual(record["updatedAt"], (NOW - 100) * 1000 + 1)

    def test_damaged_tree(self) -> None:
        """A plugin is whole after an update; without a version, none is too low."""
        place = self.bench.data.plugin("good")
        for damage in (
            lambda: remove(place),
            lambda: (place / "plugin.json").write_text("{"),
        ):
            damage()
            self.bench.publish_later("0.0.1")
            self.assertEqual(self.updated().version, "0.0.1")
            bodies = [prompt.text for prompt in self.bench.approver.prompts]
            self.assertIn("version unknown", bodies[0])
            self.start()

    def test_attack_many_updates_of_one_plugin(self) -> None:
        """Forty at once are one: one question, one answer, later by some names, too."""
        self.bench.approver.answers = [None]
        asked = [self.ask("update", "good", None, f"page-{n}") for n in range(40)]
        self.bench.approver.open[0].callback(None)
        results = [self.successResultOf(one) for one in asked]
        results.append(self.done("update", "good", None, "page-19"))
        self.assertTrue(all(result is results[0] for result in results))
        self.assertEqual(len(self.bench.jobs.recent()[-1].refs), OUTCOMES)
        self.assertEqual(self.events.count("ask update"), 1)

    def test_cancelled(self) -> None:
        """It can be cancelled while it looks, and while it asks about gains."""
        self.bench.publish_later(hosts=["x.example"])
        self.cancel(self.ask("update", "good", answers=[True, None]))
        self.assertIn("withdrawn", self.events)
        self.patch(FakeRemotes, "tip", lambda upstream, url: Deferred())
        self.cancel(self.ask("update", "good"))


class KeyTests(UpdateTestCase):
    """Tests for updates whose key is another one, or not trusted any more."""

    def test_unknown_key(self) -> None:
        """Whether to change and trust it is asked, in turn, and what it gains last."""
        self.bench.publish_later(seed=OTHER_SEED, actions=["vrcLogin"])
        self.assertEqual(self.updated().key_id, OTHER_KEY)
        checked = steps("update", "signature")
        expected = [*checked, *ROTATED, *TRUSTED, *GROWN, "update move"]
        self.assertEqual(self.events[: len(expected)], expected)
        rotate = self.bench.approver.prompts[1]
        self.assertIn(f"Old key: {KEY}\nNew key: {OTHER_KEY}\n", rotate.text)
        self.assertTrue(self.bench.trust.is_trusted(KEY))
        self.assertTrue(self.bench.trust.is_trusted(OTHER_KEY))
        self.assertEqual(self.bench.trust.mark("good", OTHER_KEY), NOW + 10)
        # A key that is trusted still has to be accepted for this plugin, every time.
        for seed in (SEED, OTHER_SEED):
            self.start()
            self.bench.publish_later(seed=seed)
            self.updated()
            self.assertIn("ask rotate_key", self.events)
            self.assertNotIn("ask trust_key", self.events)
