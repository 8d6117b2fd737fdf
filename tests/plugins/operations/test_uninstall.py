"""Tests for ``bridge.plugins.operations.changes``, with all the rooms below it."""

import shutil

from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import denied
from bridge.plugins.installed.ids import RECORDS
from bridge.plugins.installed.keys import KEYS, MARKS
from bridge.protocol.errors import BridgeError, Code
from bridge.store import Put

from .bench import KEY, NOW, Bench, no_desktop, url_of

ASKED = ["uninstall awaiting_confirmation", "ask uninstall"]


class UninstallTestCase(SynchronousTestCase):
    """A test with ``good`` and ``other`` installed, and settings of both."""

    def setUp(self):
        """Make them."""
        self.bench = Bench(self)
        self.events = self.bench.events
        for name in ("good", "other"):
            self.bench.publish(name)
            self.successResultOf(self.bench.install(url_of(name)))
            kept = [Put(f"plugin:{name}", "colour", "red")]
            self.successResultOf(self.bench.store.commit(kept))
        self.start()

    def start(self):
        """Compare with what is there now."""
        self.events.clear()
        self.before = (*self.bench.left(), self.bench.journal.exists())

    def uninstall(self, plugin_id="good"):
        """Begin to uninstall; the answer is written into the events."""
        uninstalling = self.bench.uninstall(plugin_id)

        def answered(result):
            self.events.append("answer")
            return result

        return uninstalling.addBoth(answered)

    def refusal(self, plugin_id="good", code=Code.BAD_REQUEST):
        """Fail to uninstall; the message.  All is as before."""
        error = self.failureResultOf(self.uninstall(plugin_id), BridgeError).value
        self.assertEqual(error.code, code)
        left = (*self.bench.left(), self.bench.journal.exists())
        self.assertEqual(left, self.before)
        return error.message

    def assert_gone(self):
        """``good`` is gone, except for its mark and its key; ``other`` is not."""
        names, values = self.bench.left()
        self.assertEqual(names, ["other"])
        self.assertFalse(self.bench.journal.exists())
        self.assertEqual(list(values[RECORDS]), ["other"])
        self.assertEqual(list(values[KEYS]), [KEY])
        self.assertEqual(values[MARKS]["good"], {KEY: NOW})
        self.assertNotIn("plugin:good", values)
        self.assertEqual(values["plugin:other"], {"colour": "red"})


class UninstallTests(UninstallTestCase):
    """Tests for what goes well."""

    def test_steps_pushes_and_prompt(self):
        """All happens in this order, and the pushes precede the answer."""
        self.successResultOf(self.uninstall())
        self.assertEqual(
            self.events,
            [
                *ASKED,
                "uninstall remove",
                "push plugins other",
                "uninstall build",
                "run other",
                "push build ok other",
                "answer",
            ],
        )
        self.assert_gone()

    def test_waits_for_an_update(self):
        """One operation at a time changes a plugin: the second one asks afterwards."""
        self.bench.approver.answers = [None]
        updating = self.bench.update("good")
        uninstalling = self.uninstall()
        self.assertEqual(self.bench.approver.prompts[-1].operation, "update")
        self.bench.approver.open[0].errback(denied("declined"))
        self.failureResultOf(updating, BridgeError)
        self.successResultOf(uninstalling)
        self.assert_gone()

    def test_waits_for_its_turn_to_commit(self):
        """While another operation changes the set, nothing is removed."""
        self.successResultOf(self.bench.jobs.commit_lock.acquire())
        uninstalling = self.uninstall()
        self.assertEqual(self.bench.left(), self.before[:2])
        self.bench.jobs.commit_lock.release()
        self.successResultOf(uninstalling)
        self.assert_gone()

    def test_prompt(self):
        """The prompt names the plugin, and where it came from."""
        self.successResultOf(self.uninstall())
        prompt = self.bench.approver.prompts[-1]
        self.assertEqual(prompt.title, "Uninstall the plugin good?")
        self.assertIn("Host: forge.example\n", prompt.body)

    def test_damaged_ones(self):
        """A plugin without a tree, with a link for a tree, or a ruined record goes."""
        place = self.bench.data.plugin("good")

        def link() -> None:
            shutil.rmtree(place)
            place.symlink_to(self.bench.data.root)

        for damage in (
            lambda: shutil.rmtree(place),
            link,
            lambda: self.bench.store.commit([Put(RECORDS, "good", "ruined")]),
            lambda: self.bench.store.commit([Put(RECORDS, "good", {"url": 5})]),
        ):
            damage()
            self.successResultOf(self.uninstall())
            self.assert_gone()
            self.assertTrue(self.bench.data.state.exists())
            self.successResultOf(self.bench.install(url_of("good")))

    def test_again_after_it(self):
        """It can be installed again; its key is not asked for again."""
        self.successResultOf(self.uninstall())
        self.events.clear()
        self.successResultOf(self.bench.install(url_of("good")))
        self.assertNotIn("ask trust_key", self.events)

    def test_failed_build(self):
        """The plugin is gone; the report is of the build."""
        self.bench.builder.outcomes = ["no bundler"]
        self.successResultOf(self.uninstall())
        self.assertEqual(self.events[-2:], ["push build failed other", "answer"])
        self.assert_gone()

    def test_broken_build(self):
        """A defect in the build, or in the list, is logged; the plugin is gone."""
        for break_it in (
            lambda: self.bench.builder.outcomes.append(ZeroDivisionError()),
            lambda: self.bench.threads.failing.update(entries=ZeroDivisionError()),
        ):
            break_it()
            self.successResultOf(self.uninstall())
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
            self.assert_gone()
            self.bench.threads.failing.clear()
            self.successResultOf(self.bench.install(url_of("good")))


class RefusalTests(UninstallTestCase):
    """Tests for what is refused, or fails."""

    def test_ids(self):
        """What is no id, and what is not installed, is refused without a prompt."""
        for plugin_id, prefix in (
            ("../x", "invalid_id: "),
            ("..", "invalid_id: "),
            ("gone", "not_installed: "),
        ):
            self.assertTrue(self.refusal(plugin_id).startswith(prefix))
        self.assertEqual(set(self.events), {"answer"})

    def test_denied(self):
        """A declined prompt removes nothing."""
        self.bench.approver.answers = [False, no_desktop()]
        self.assertEqual(self.refusal(), "denied: declined")
        self.assertEqual(self.refusal(), "approval_unavailable: no desktop")

    def test_each_step(self):
        """A disk that fails leaves everything as it was."""
        for name in ("begin", "do"):
            self.bench.threads.failing = {name: OSError(28, "No space left")}
            self.refusal(code=Code.INTERNAL)
            self.flushLoggedErrors(OSError)


class ForgetTests(UninstallTestCase):
    """Tests for keys that are forgotten."""

    def forget(self, key_id=KEY):
        """Forget a key."""
        return self.bench.forget_key(key_id)

    def test_forgotten(self):
        """The key is accepted no longer, and has no marks; nothing is uninstalled."""
        self.bench.sink.progresses.clear()
        self.successResultOf(self.forget())
        names, values = self.bench.left()
        self.assertEqual(names, ["good", "other"])
        self.assertNotIn(KEYS, values)
        self.assertNotIn(MARKS, values)
        (progress,) = self.bench.sink.progresses
        self.assertEqual((progress.op, progress.id), ("forget_key", None))
        self.assertEqual(progress.step, "awaiting_confirmation")

    def test_prompt(self):
        """The prompt shows the key and what it was first accepted for."""
        self.successResultOf(self.forget())
        prompt = self.bench.approver.prompts[-1]
        self.assertIn(f"Key: {KEY}\n", prompt.body)
        self.assertIn("First accepted for: good (https://forge.example", prompt.body)

    def test_unknown_key(self):
        """A key that is not accepted is refused without a prompt."""
        for key_id in ("", "0000", KEY + "\n"):
            error = self.failureResultOf(self.forget(key_id), BridgeError).value
            self.assertTrue(error.message.startswith("not_trusted: "))
        self.assertEqual(self.events, [])

    def test_denied(self):
        """A declined prompt forgets nothing."""
        self.bench.approver.answers = [False]
        error = self.failureResultOf(self.forget(), BridgeError).value
        self.assertEqual(error.message, "denied: declined")
        self.assertTrue(self.bench.trust.is_trusted(KEY))

    def test_twice(self):
        """Of two prompts for one key, the second forgets nothing any more."""
        self.bench.approver.answers = [None, True]
        first = self.forget()
        self.successResultOf(self.forget())
        self.bench.approver.open[0].callback(None)
        error = self.failureResultOf(first, BridgeError).value
        self.assertTrue(error.message.startswith("not_trusted: "))

    def test_damaged_record(self):
        """A key whose record is ruined can be forgotten."""
        self.successResultOf(self.bench.store.commit([Put(KEYS, "odd", 5)]))
        self.successResultOf(self.forget("odd"))
        self.assertEqual(list(self.bench.store.entries(KEYS)), [KEY])

    def test_not_cancelled_while_it_commits(self):
        """What is being written can't be cancelled."""
        self.bench.writes.slow = "replace"
        forgetting = self.forget()
        (job,) = [one for one in self.bench.jobs.recent() if not one.outcome]
        with self.assertRaises(BridgeError) as caught:
            self.bench.jobs.cancel(job.name)
        self.assertTrue(caught.exception.message.startswith("not_cancellable: "))
        self.bench.writes.go_on()
        self.successResultOf(forgetting)

    def test_waits_for_a_commit(self):
        """It is not forgotten while another operation commits what it has signed."""
        lock = self.bench.jobs.commit_lock
        self.successResultOf(lock.acquire())
        forgetting = self.forget()
        self.assertNoResult(forgetting)
        self.assertTrue(self.bench.trust.is_trusted(KEY))
        lock.release()
        self.successResultOf(forgetting)

    def test_installed_again(self):
        """What is installed with a forgotten key asks for it again."""
        self.successResultOf(self.forget())
        self.successResultOf(self.uninstall())
        self.events.clear()
        self.successResultOf(self.bench.install(url_of("good")))
        self.assertIn("ask trust_key", self.events)
