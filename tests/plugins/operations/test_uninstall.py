"""Plugins that are uninstalled, and keys that are forgotten."""

import shutil

from bridge.plugins.installed.records import KEYS, MARKS, RECORDS
from bridge.protocol.errors import BridgeError, clone_failed
from bridge.store.state import Put

from .bench import KEY, NOW, OperationTestCase, steps, url_of


class UninstallTestCase(OperationTestCase):
    """A test with ``good`` and ``other`` installed, and settings of both."""

    def setUp(self) -> None:
        super().setUp()
        for name in ("good", "other"):
            self.bench.publish(name)
            self.done("install", url_of(name))
            self.commit(Put(f"plugin:{name}", "colour", "red"))
        self.start()


class UninstallTests(UninstallTestCase):
    def assert_gone(self) -> None:
        """``good`` is gone, except for its mark and its key; ``other`` is not."""
        names, values, _, journal = self.state()
        self.assertEqual((names, journal), (["other"], False))
        self.assertEqual(list(values[RECORDS]), ["other"])
        self.assertEqual(list(values[KEYS]), [KEY])
        self.assertEqual(values[MARKS]["good"], {KEY: NOW})
        self.assertNotIn("plugin:good", values)
        self.assertEqual(values["plugin:other"], {"colour": "red"})

    def test_steps_pushes_and_prompt(self) -> None:
        """All happens in this order; the prompt names the plugin and its host."""
        self.done("uninstall", "good")
        self.assertEqual(
            self.events,
            [
                *steps("uninstall", "ask"),
                "uninstall remove",
                "push plugins other",
                "uninstall build",
                "run other",
                "push build ok other",
                "answer",
            ],
        )
        self.assert_gone()
        (prompt,) = self.bench.approver.prompts
        self.assertEqual(prompt.title, "Uninstall the plugin good?")
        self.assertIn("Host: forge.example\n", prompt.text)

    def test_waits_for_an_update(self) -> None:
        """One operation at a time changes a plugin: the second one asks afterwards."""
        self.bench.clones.slow = "clone"
        self.bench.cloner.failure = clone_failed("gone")
        updating = self.ask("update", "good")
        uninstalling = self.ask("uninstall", "good")
        self.assertEqual(self.bench.approver.prompts[-1].operation, "update")
        self.bench.clones.go_on()
        self.error(updating)
        self.successResultOf(uninstalling)
        self.assert_gone()

    def test_waits_for_its_turn_to_commit(self) -> None:
        """While another operation changes the set, nothing is removed, nor a key."""
        lock = self.bench.jobs.commit_lock
        for operation, what in (("uninstall", "good"), ("forget_key", KEY)):
            self.start()
            self.successResultOf(lock.acquire())
            going = self.ask(operation, what)
            self.assertNoResult(going)
            self.assertEqual(self.state(), self.before)
            lock.release()
            self.successResultOf(going)

    def test_damaged_ones(self) -> None:
        """A plugin without a tree, with a link for a tree, or a ruined record goes."""
        place = self.bench.data.plugin("good")

        def link() -> None:
            shutil.rmtree(place)
            place.symlink_to(self.bench.data.root)

        for damage in (
            lambda: shutil.rmtree(place),
            link,
            lambda: self.commit(Put(RECORDS, "good", "ruined")),
            lambda: self.commit(Put(RECORDS, "good", None)),
            lambda: self.commit(Put(RECORDS, "good", {"url": 5})),
        ):
            damage()
            self.done("uninstall", "good")
            self.assert_gone()
            self.assertTrue(self.bench.data.state.exists())
            self.start()
            self.done("install", url_of("good"))
            self.assertNotIn("ask trust_key", self.events)

    def test_build_that_fails(self) -> None:
        """The plugin is gone even so; a defect in the build, or the list, is logged."""
        broken = ZeroDivisionError()
        for fail, logged in (
            (lambda: self.bench.builder.outcomes.append("no bundler"), 0),
            (lambda: self.bench.builder.outcomes.append(broken), 1),
            (lambda: self.bench.threads.failing.update(entries=broken), 1),
        ):
            fail()
            self.done("uninstall", "good")
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), logged)
            self.assert_gone()
            self.bench.threads.failing.clear()
            self.done("install", url_of("good"))
        self.assertIn("push build failed other", self.events)


class ForgetTests(UninstallTestCase):
    def test_forgotten(self) -> None:
        """The key is accepted no longer, and has no marks; nothing is uninstalled."""
        self.done("forget_key", KEY)
        names, values = self.bench.left()
        self.assertEqual(names, ["good", "other"])
        self.assertNotIn(KEYS, values)
        self.assertNotIn(MARKS, values)
        (progress,) = self.bench.pushed["progress"]
        self.assertEqual((progress["op"], progress["id"]), ("forget_key", None))
        self.assertEqual(progress["step"], "awaiting_confirmation")
        (prompt,) = self.bench.approver.prompts
        self.assertIn(f"Key: {KEY}\n", prompt.text)
        first = "First accepted for: good\nHost: forge.example\nPath: /good.git"
        self.assertTrue(prompt.text.endswith(first))
        # It is as a key that was never accepted, but not another one.
        self.bench.publish_later()
        self.done("update", "good")
        self.assertIn("ask trust_key", self.events)
        self.assertNotIn("ask rotate_key", self.events)

    def test_twice(self) -> None:
        """Of two prompts for one key, the second forgets nothing any more."""
        self.bench.approver.answers = [None, None]
        first, second = self.ask("forget_key", KEY), self.ask("forget_key", KEY)
        self.bench.approver.open[0].callback(None)
        self.successResultOf(first)
        self.bench.approver.open[1].callback(None)
        self.assertTrue(self.error(second).startswith("not_trusted: "))

    def test_damaged_record(self) -> None:
        """A key whose record is ruined can be forgotten."""
        self.commit(Put(KEYS, "odd", 5))
        self.done("forget_key", "odd")
        self.assertEqual(list(self.bench.store.entries(KEYS)), [KEY])

    def test_not_cancelled_while_it_commits(self) -> None:
        """What is being written can't be cancelled."""
        self.bench.writes.slow = "replace"
        forgetting = self.ask("forget_key", KEY)
        (job,) = [one for one in self.bench.jobs.recent() if not one.outcome]
        error = self.assertRaises(BridgeError, self.bench.jobs.cancel, job.name)
        self.assertTrue(error.message.startswith("not_cancellable: "))
        self.bench.writes.go_on()
        self.successResultOf(forgetting)
