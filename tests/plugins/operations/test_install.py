"""Tests for ``bridge.plugins.operations.install``, with all the rooms below it."""

import json
import os
from typing import Any
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.installed.exchange import Exchange
from bridge.plugins.installed.ids import RECORDS
from bridge.plugins.installed.keys import KEYS, MARKS
from bridge.plugins.installed.records import Record
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import MANIFEST_BYTES
from bridge.store import Put

from ...pages import Page
from .bench import (
    COMMIT,
    KEY,
    NOW,
    OTHER_KEY,
    OTHER_SEED,
    Bench,
    files_of,
    manifest,
    no_desktop,
    url_of,
)

ASKED = ["awaiting_confirmation", "ask install"]


CHECKED = ["clone", "clone", "validate", "policy", "signature"]
GROWN = ["grow awaiting_confirmation", "ask grow"]
TRUSTED = ["trust_key awaiting_confirmation", "ask trust_key"]


class PipelineTestCase(SynchronousTestCase):
    """A test with a pipeline, and ``good`` in a repository."""

    def setUp(self):
        """Make them."""
        self.bench = Bench(self)
        self.events = self.bench.events
        self.bench.publish("good")
        self.before = self.bench.left()

    def install(self, name="good"):
        """Begin an install; the answer is written into the events."""
        installing = self.bench.install(url_of(name))

        def answered(result):
            self.events.append("answer")
            return result

        return installing.addBoth(answered)

    def installed(self, name="good"):
        """Install; the list entry."""
        return self.successResultOf(self.install(name)).id

    def refusal(self, name="good", code=Code.BAD_REQUEST):
        """Fail to install; the message.  Nothing is left behind."""
        error = self.failureResultOf(self.install(name), BridgeError).value
        self.assertEqual(error.code, code)
        self.assertEqual(self.bench.left(), self.before)
        return error.message


class InstallTests(PipelineTestCase):
    """Tests for what goes well."""

    def test_steps_pushes_and_prompts(self):
        """All happens in this order, and the pushes precede the answer."""
        self.installed()
        self.assertEqual(
            self.events,
            [
                *ASKED,
                *CHECKED,
                *TRUSTED,
                "move",
                "push plugins good",
                "build",
                "run good",
                "push build ok good",
                "answer",
            ],
        )

    def test_answer(self):
        """The answer is the list entry, which pages were pushed, too."""
        entry = self.successResultOf(self.install())
        self.assertEqual(entry.id, "good")
        self.assertEqual(entry.url, url_of("good"))
        self.assertEqual(entry.commit, COMMIT)
        self.assertEqual(entry.key_id, KEY)
        self.assertEqual(entry.installed_at, "2023-11-14T22:13:20Z")
        self.assertEqual(self.bench.sink.entries, [[entry]])

    def test_what_is_kept(self):
        """The tree, the record, the key and its mark are kept; nothing else is."""
        self.installed()
        names, values = self.bench.left()
        self.assertEqual(names, ["good"])
        self.assertEqual(
            values,
            {
                RECORDS: {
                    "good": {
                        "url": url_of("good"),
                        "commit": COMMIT,
                        "keyId": KEY,
                        "signedAt": NOW,
                        "installedAt": NOW * 1000,
                        "updatedAt": NOW * 1000,
                    }
                },
                KEYS: {KEY: values[KEYS][KEY]},
                MARKS: {"good": {KEY: NOW}},
            },
        )
        self.assertEqual(values[KEYS][KEY]["plugins"], ["good"])

    def test_one_commit(self):
        """Record, key and mark get into the file together."""
        counting = _Counting(self.bench.store)
        setattr(self.bench.settlement, "_store", counting)  # noqa: B010 - for mypy
        self.installed()
        ((record, key, mark),) = counting.commits
        self.assertEqual([record.ns, key.ns, mark.ns], [RECORDS, KEYS, MARKS])

    def test_known_key_is_not_asked_for_again(self):
        """A second plugin by the same author asks only whether to install it."""
        self.bench.publish("other")
        self.installed()
        self.events.clear()
        self.installed("other")
        self.assertEqual(self.events[:7], [*ASKED, *CHECKED])
        self.assertEqual(self.events[7], "move")
        keys = self.bench.store.entries(KEYS)
        self.assertEqual(keys[KEY]["plugins"], ["good", "other"])

    def publish_asking(self, name):
        """Publish a plugin that wants to do something."""
        text = manifest(name, permissions=["network"], hosts=["x.example"])
        self.bench.publish(name, files_of(name, **{"plugin.json": text}))

    def test_permissions_are_shown_with_a_new_key(self):
        """The question about a new key shows what the plugin wants to do."""
        self.publish_asking("good")
        self.installed()
        install, trust = self.bench.approver.prompts
        self.assertNotIn("Go online", install.body)
        self.assertIn("Go online", trust.body)

    def test_permissions_are_asked_for_with_a_known_key(self):
        """With a known key, a question of its own shows them; no means no."""
        self.installed()
        self.publish_asking("other")
        self.before = self.bench.left()
        self.bench.approver.answers = [True, False]
        self.events.clear()
        self.assertEqual(self.refusal("other"), "denied: declined")
        self.assertEqual(self.events, [*ASKED, *CHECKED, *GROWN, "answer"])
        prompt = self.bench.approver.prompts[-1]
        self.assertIn("Go online", prompt.body)
        self.assertIn("Sites: x.example", prompt.body)
        self.bench.approver.answers = [True, True]
        self.assertEqual(self.installed("other"), "other")

    def test_permissions_that_a_preview_has_shown(self):
        """The first prompt names them, and no other one repeats them."""
        self.publish_asking("good")
        self.publish_asking("other")
        for name, asked in (("good", 2), ("other", 1)):
            self.bench.approver.prompts.clear()
            self.bench.keep(name)
            pin = self.bench.pin_of(name)
            installing = self.bench.install(url_of(name), pin)
            self.successResultOf(installing)
            first, *others = self.bench.approver.prompts
            self.assertEqual(len(others) + 1, asked)
            self.assertIn(f'Plugin: {name}, "A plugin", version 1.0.0', first.body)
            self.assertIn("Go online", first.body)
            for prompt in others:
                self.assertNotIn("Go online", prompt.body)

    def test_preview_that_is_gone(self):
        """What the first prompt could not name is asked for later."""
        self.installed()
        self.publish_asking("other")
        installing = self.bench.install(url_of("other"), self.bench.pin_of("other"))
        self.successResultOf(installing)
        _, declared = self.bench.approver.prompts[-2:]
        self.assertIn("Go online", declared.body)

    def test_prompts_show_what_to_decide_by(self):
        """The first prompt shows the host, the second the key and the plugin."""
        self.installed()
        install, trust = self.bench.approver.prompts
        self.assertIn("Host: forge.example\n", install.body)
        self.assertIn(f"Key: {KEY}\n", trust.body)
        self.assertIn('"A plugin", version 1.0.0', trust.body)

    def test_received_bytes_are_shown(self):
        """While a clone goes on, pages see how much was received."""
        chunks = self.bench.cloner.chunks = _Slow(self.bench.clock, [1000, 2500])
        self.installed()
        self.assertEqual(list(chunks.numbers), [1000, 2500])
        messages = [p.message for p in self.bench.sink.progresses if p.step == "clone"]
        self.assertEqual(
            messages,
            [
                "Cloning from forge.example",
                "Received 1,000 bytes",
                "Received 2,500 bytes",
            ],
        )


class _Counting:
    """A store that keeps what is committed through it."""

    def __init__(self, store):
        self._store = store
        self.commits = []

    def __getattr__(self, name):
        return getattr(self._store, name)

    def commit(self, edits):
        """See ``Store.commit``."""
        self.commits.append(edits)
        return self._store.commit(edits)


class _Slow:
    """Chunks that come half a second apart."""

    def __init__(self, clock, numbers):
        self._clock = clock
        self.numbers = numbers

    def __iter__(self):
        for number in self.numbers:
            self._clock.advance(0.5)
            yield number


class RefusalTests(PipelineTestCase):
    """Tests for each step that refuses: its prefix, its pushes, and no trace."""

    def expect(self, events):
        """Compare what happened."""
        self.assertEqual(self.events, [*events, "answer"])

    def test_url(self):
        """A URL that is not https is refused before anything happens."""
        installing = self.bench.install("http://forge.example/a.git")
        message = self.failureResultOf(installing, BridgeError).value.message
        self.assertTrue(message.startswith("not_https: "))
        self.assertEqual(self.events, [])

    def test_denied(self):
        """A declined prompt fetches nothing."""
        self.bench.approver.answers = [False]
        self.assertEqual(self.refusal(), "denied: declined")
        self.expect(ASKED)

    def test_no_prompt(self):
        """Without a prompt nothing is fetched."""
        self.bench.approver.answers = [no_desktop()]
        self.assertEqual(self.refusal(), "approval_unavailable: no desktop")
        self.expect(ASKED)

    def test_broken_prompt(self):
        """An approver that breaks has not approved."""
        self.bench.approver.answers = [ZeroDivisionError()]
        self.assertEqual(
            self.refusal(), "approval_unavailable: the prompt could not be shown"
        )
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.expect(ASKED)

    def test_no_manifest(self):
        """A repository without plugin.json is no plugin."""
        self.bench.publish("bare", {"main.ts": ""})
        self.assertTrue(self.refusal("bare").startswith("no_manifest: "))
        self.expect([*ASKED, *CHECKED[:3]])

    def test_manifests(self):
        """A manifest that breaks a rule is refused by that rule."""
        huge = "{" + " " * MANIFEST_BYTES + "}"
        for name, files, prefix in (
            ("long", {"plugin.json": manifest("long", description="x" * 201)}, None),
            ("text", {"plugin.json": "not JSON"}, None),
            ("huge", {"plugin.json": huge}, None),
            ("path", {"plugin.json": manifest("../x")}, "invalid_id: "),
        ):
            self.events.clear()
            self.bench.publish(name, {**files_of(name), **files})
            message = self.refusal(name)
            self.assertTrue(message.startswith(prefix or "manifest_invalid: "), message)
            self.expect([*ASKED, *CHECKED[:3]])

    def test_signatures(self):
        """A tree that nobody signed, or not this tree, is refused."""
        self.bench.publish("missing", signed_as=None)
        self.bench.publish("other", signed_as="good")
        (self.bench.publish("edited") / "README").write_text("one more file")
        for name in ("missing", "other", "edited"):
            self.events.clear()
            self.assertTrue(self.refusal(name).startswith("unsigned: "))
            self.expect([*ASKED, *CHECKED])

    def test_installed_already(self):
        """An installed plugin is not replaced, wherever the new one comes from."""
        self.bench.publish("twin", files_of("good"), signed_as="good", seed=OTHER_SEED)
        self.installed()
        self.before = self.bench.left()
        for name in ("good", "twin"):
            self.events.clear()
            self.assertEqual(
                self.refusal(name),
                "already_installed: good is installed; uninstall it first",
            )
            self.expect([*ASKED, *CHECKED])

    def test_record_without_a_tree(self):
        """A plugin whose tree is gone has to be uninstalled first."""
        record = Record(url_of("good"), COMMIT, KEY, NOW, 1, 1)
        self.successResultOf(self.bench.store.commit([record.put("good")]))
        self.before = self.bench.left()
        self.assertTrue(self.refusal().startswith("already_installed: "))

    def test_tree_without_a_record(self):
        """A tree without a record is not replaced, and doctor is named."""
        self.bench.data.plugin("good").mkdir()
        self.before = self.bench.left()
        self.assertEqual(
            self.refusal(),
            "already_installed: good has a directory but no record; plugin-bridge "
            "doctor shows how to fix it",
        )

    def test_tree_that_appears_during_the_prompt(self):
        """What is there when the tree is to be moved is not replaced."""
        self.bench.approver.answers = [True, None]
        installing = self.install()
        self.bench.data.plugin("good").mkdir()
        self.before = (["good"], self.before[1])
        (question,) = self.bench.approver.open
        question.callback(None)
        error = self.failureResultOf(installing, BridgeError).value
        self.assertTrue(error.message.startswith("already_installed: "))
        self.assertEqual(self.bench.left(), self.before)
        self.expect([*ASKED, *CHECKED, *TRUSTED, "move"])

    def test_replay_of_an_older_tree(self):
        """A tree signed before one that was installed and removed is refused."""
        later = Put(MARKS, "good", {KEY: NOW + 1})
        self.successResultOf(self.bench.store.commit([later]))
        self.before = self.bench.left()
        self.assertTrue(self.refusal().startswith("downgrade: "))
        self.expect([*ASKED, *CHECKED])

    def test_key_denied(self):
        """A key that the user does not accept installs nothing."""
        self.bench.approver.answers = [True, False]
        self.assertEqual(
            self.refusal(), "not_trusted: the author's key was not accepted"
        )
        self.expect([*ASKED, *CHECKED, *TRUSTED])

    def test_key_prompt_unavailable(self):
        """When the desktop has gone meanwhile, that is what is reported."""
        self.bench.approver.answers = [True, no_desktop()]
        self.assertEqual(self.refusal(), "approval_unavailable: no desktop")
        self.expect([*ASKED, *CHECKED, *TRUSTED])

    def test_key_forgotten_meanwhile(self):
        """A key that was forgotten before the commit is not accepted by it."""
        self.bench.publish("other")
        self.installed("other")
        self.before = self.bench.left()
        self.successResultOf(self.bench.jobs.commit_lock.acquire())
        installing = self.install()
        self.successResultOf(self.bench.store.commit(self.bench.trust.forgetting(KEY)))
        self.bench.jobs.commit_lock.release()
        error = self.failureResultOf(installing, BridgeError).value
        self.assertTrue(error.message.startswith("not_trusted: "))
        self.assertNotIn(KEYS, self.bench.left()[1])


class FaultTests(PipelineTestCase):
    """Tests for what breaks: it is undone, logged, and answered as ``internal``."""

    def test_checks(self):
        """A check that breaks leaves nothing."""
        for name in ("load_manifest", "survey_tree", "verify_tree", "has"):
            self.bench.threads.failing = {name: OSError(5, "I/O error")}
            self.refusal(code=Code.INTERNAL)
            self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
            self.assertNotIn("move", self.events)

    def test_announcement(self):
        """A list that cannot be read undoes what was committed."""
        self.bench.threads.failing = {"entries": OSError(5, "I/O error")}
        self.refusal(code=Code.INTERNAL)
        # Once for the installation, once while it was undone.
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 2)

    def test_tree_that_cannot_be_taken_out(self):
        """It is not recorded, built or in the way, and goes when that works again."""
        self.bench.builder.outcomes = ["broken"]
        with mock.patch.object(Exchange, "undo", side_effect=OSError(5, "I/O error")):
            self.failureResultOf(self.install(), BridgeError)
        self.assertEqual(self.bench.left(), (["good"], {}))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.assertEqual(self.events[-3:], ["run", "push build ok", "answer"])
        self.assertEqual(self.installed(), "good")
        self.assertEqual(self.bench.left()[0], ["good"])
        self.assertFalse(self.bench.journal.exists())


class RollbackTests(PipelineTestCase):
    """Tests for a build that fails."""

    def after_move(self):
        """What happened from the move on."""
        return self.events[self.events.index("move") :]

    def test_build_failed(self):
        """Tree, record, key, mark and settings are gone, and pages know."""
        self.bench.builder.outcomes = ["no such module"]
        self.bench.threads.before = {
            "entries": lambda: self.bench.store.commit(
                [Put("plugin:good", "colour", "red")]
            )
        }
        self.assertEqual(self.refusal(), "build_failed: no such module")
        self.assertEqual(
            self.after_move(),
            [
                "move",
                "push plugins good",
                "build",
                "run good",
                "push build failed good",
                "rollback",
                "push plugins",
                "run",
                "push build ok",
                "answer",
            ],
        )

    def test_settings_from_before(self):
        """Settings that were there before an install that fails stay."""
        kept = [Put("plugin:good", "colour", "red")]
        self.successResultOf(self.bench.store.commit(kept))
        self.before = self.bench.left()
        self.bench.builder.outcomes = ["no such module"]
        self.refusal()

    def test_every_build_is_announced(self):
        """Pages receive the reports of the failed build and of the restoring one."""
        self.bench.publish("other")
        self.installed("other")
        self.before = self.bench.left()
        self.events.clear()
        self.bench.builder.outcomes = ["no such module"]
        self.bench.clock.advance(5)
        self.refusal()
        self.assertEqual(
            self.after_move(),
            [
                "move",
                "push plugins good other",
                "build",
                "run good other",
                "push build failed good other",
                "rollback",
                "push plugins other",
                "run other",
                "push build ok other",
                "answer",
            ],
        )

    def test_restoring_build_that_fails(self):
        """When nothing can be built any more, the first error is answered."""
        self.bench.builder.outcomes = ["no such module", "no bundler"]
        self.assertEqual(self.refusal(), "build_failed: no such module")
        self.assertEqual(self.after_move()[-3:], ["run", "push build failed", "answer"])

    def test_builder_that_breaks(self):
        """A defect in the build undoes the installation, too."""
        self.bench.builder.outcomes = [ZeroDivisionError()]
        self.refusal(code=Code.INTERNAL)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_code_changed_between_move_and_build(self):
        """A tree that is changed before it is built is not installed."""
        main = self.bench.data.plugin("good") / "main.ts"
        self.bench.threads.before = {"verify": lambda: main.write_text("steal();")}
        message = self.refusal()
        self.assertTrue(
            message.startswith("build_failed: good is left out: unsigned: "), message
        )

    def test_key_of_another_plugin_stays(self):
        """A key that was accepted before is accepted after a rollback, unchanged."""
        self.bench.publish("other")
        self.installed("other")
        self.before = self.bench.left()
        self.bench.clock.advance(60)
        self.bench.builder.outcomes = ["broken"]
        self.refusal()
        self.assertTrue(self.bench.trust.is_trusted(KEY))

    def test_again_after_a_rollback(self):
        """After a rollback the plugin can be installed, and its key is asked for."""
        self.bench.builder.outcomes = ["broken"]
        self.refusal()
        self.events.clear()
        self.installed()
        self.assertIn("ask trust_key", self.events)


class SeveralTests(PipelineTestCase):
    """Tests for several installs at once."""

    def test_same_url_twice(self):
        """The second click is refused at once; after the first it is not."""
        self.bench.approver.answers = [None]
        first = self.install()
        error = self.failureResultOf(self.install(), BridgeError).value
        self.assertEqual(
            error.message,
            "busy: an install from this URL is already under way; wait for it to end",
        )
        self.bench.approver.open[0].callback(None)
        self.successResultOf(first)
        again = self.failureResultOf(self.install(), BridgeError).value
        self.assertTrue(again.message.startswith("already_installed: "))

    def test_prompts_name_who_asks(self):
        """A page, or a command in a terminal: in each prompt of the operation."""
        for page, who in ((Page(), "A page of "), (Page(is_page=False), "A command ")):
            self.bench.approver.prompts.clear()
            self.bench.approver.answers = [True, False]
            asked = self.bench.install(url_of("good"), caller=page)
            self.failureResultOf(asked, BridgeError)
            bodies = [prompt.body for prompt in self.bench.approver.prompts]
            self.assertEqual([body[: len(who)] for body in bodies], [who, who])

    def test_attack_many_operations_of_one_page(self):
        """A page has four at once; others have theirs, and so has the terminal."""
        page, other = Page(), Page()
        self.bench.approver.answers = [None] * 9
        asked = [
            self.bench.install(f"https://forge.example/{n}", caller=page)
            for n in range(5)
        ]
        error = self.failureResultOf(asked[4], BridgeError).value
        self.assertEqual(
            error.message,
            "4 plugin operations of this page are under way; wait for one to end",
        )
        for number, caller in ((7, other), (8, None)):
            url = f"https://forge.example/{number}"
            self.assertNoResult(self.bench.install(url, caller=caller))
        self.bench.approver.open[0].errback(BridgeError(Code.BAD_REQUEST, "denied: x"))
        self.failureResultOf(asked[0], BridgeError)
        again = self.bench.install("https://forge.example/9", caller=page)
        self.assertNoResult(again)

    def test_same_plugin_from_two_places(self):
        """The second waits for the first's commit, and is then refused."""
        self.bench.publish("twin", files_of("good"), signed_as="good", seed=OTHER_SEED)
        self.bench.approver.answers = [True, None]
        first, second = self.install(), self.install("twin")
        self.assertNoResult(second)
        self.assertEqual(self.events.count("ask trust_key"), 1)
        self.bench.approver.open[0].callback(None)
        self.successResultOf(first)
        error = self.failureResultOf(second, BridgeError).value
        self.assertTrue(error.message.startswith("already_installed: "))
        self.assertFalse(self.bench.trust.is_trusted(OTHER_KEY))

    def test_open_prompt_holds_nobody_up(self):
        """While one install waits for its user, another one is done."""
        self.bench.publish("other")
        self.bench.approver.answers = [None]
        first = self.install()
        self.installed("other")
        self.assertNoResult(first)

    def test_commits_one_after_the_other(self):
        """The second plugin is moved when the first one's build is over."""
        self.bench.publish("other")
        gate: Deferred[Any] = Deferred()
        self.bench.builder.outcomes = [gate]
        first, second = self.install(), self.install("other")
        self.assertEqual(self.events.count("move"), 1)
        gate.callback(None)
        self.assertEqual(self.successResultOf(first).id, "good")
        self.assertEqual(self.successResultOf(second).id, "other")
        self.assertEqual(self.bench.installed(), ["good", "other"])


class EndTests(PipelineTestCase):
    """Tests for a page, or a daemon, that goes away."""

    def end(self, installing):
        """Close; the install is given up and leaves nothing."""
        self.successResultOf(self.bench.jobs.close())
        error = self.failureResultOf(installing, BridgeError).value
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertEqual(self.bench.left(), self.before)

    def test_shutdown_before_the_commit(self):
        """An install that waits for another one's commit is given up."""
        self.successResultOf(self.bench.jobs.commit_lock.acquire())
        self.end(self.install())
        self.assertNotIn("move", self.events)

    def test_shutdown_during_the_build(self):
        """What is being committed is finished, and waited for."""
        gate: Deferred[Any] = Deferred()
        self.bench.builder.outcomes = [gate]
        installing = self.install()
        closing = self.bench.jobs.close()
        self.assertNoResult(closing)
        gate.callback(None)
        self.successResultOf(closing)
        self.assertEqual(self.successResultOf(installing).id, "good")


class EchoTests(PipelineTestCase):
    """Tests that a caller's words do not come back."""

    def test_no_refusal_repeats_the_url(self):
        """Neither refusals nor progress messages show more of the URL than its host."""
        secret = "s3cr3t-name"
        self.bench.publish(secret, files_of("good"), signed_as="good")
        for answers in ([False], [True, False], [True, True]):
            self.bench.approver.answers = answers
            if len(answers) == 2 and answers[1]:
                self.bench.builder.outcomes = ["broken"]
            error = self.failureResultOf(self.install(secret), BridgeError).value
            self.assertNotIn(secret, error.message)
        reported = json.dumps([p.message for p in self.bench.sink.progresses])
        self.assertNotIn(secret, reported)
        self.assertNotIn(os.sep + "plugins", reported)


class PinnedInstallTests(PipelineTestCase):
    """Tests for the install of what was previewed, and for its name."""

    REF = "page-chose-this-1"

    def pinned(self, ref=None):
        """Begin to install what was previewed."""
        pin = self.bench.pin_of("good")
        return self.bench.install(url_of("good"), pin, ref)

    def test_denied_prompt_leaves_the_kept_tree(self):
        """Who declines may change their mind: the tree is still there."""
        root = self.bench.keep("good")
        self.bench.approver.answers = [False]
        self.failureResultOf(self.pinned(), BridgeError)
        self.assertTrue(root.exists())
        self.successResultOf(self.pinned())

    def test_attack_guessed_ref(self):
        """Another page's name for its install does not stand for another URL."""
        self.bench.publish("other")
        self.successResultOf(self.pinned(self.REF))
        installing = self.bench.install(url_of("other"), None, self.REF)
        error = self.failureResultOf(installing, BridgeError).value
        self.assertEqual(error.message, "ref: another operation has this name")
        self.assertEqual(self.bench.installed(), ["good"])

    def test_cancelled_at_each_question(self):
        """A cancelled install withdraws its prompt and leaves nothing."""
        for answers in ([None], [True, None]):
            self.events.clear()
            self.bench.approver.answers = answers
            installing = self.install()
            (running,) = [o for o in self.bench.jobs.recent() if not o.outcome]
            self.successResultOf(self.bench.jobs.cancel(running.name))
            error = self.failureResultOf(installing, BridgeError).value
            self.assertTrue(error.message.startswith("cancelled: "))
            self.assertIn("withdrawn", self.events)
            self.assertEqual(self.bench.left(), self.before)

    def test_cancelled_while_it_clones(self):
        """A clone is ended at once, and what it wrote is removed."""
        self.bench.clones.slow = "clone"
        installing = self.install()
        (running,) = self.bench.jobs.recent()
        self.successResultOf(self.bench.jobs.cancel(running.name))
        error = self.failureResultOf(installing, BridgeError).value
        self.assertTrue(error.message.startswith("cancelled: "))
        self.assertEqual(self.bench.left(), self.before)
