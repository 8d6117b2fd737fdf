"""Tests for ``bridge.plugins.operations.update``, with all the rooms below it."""

from unittest import mock

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.transfer import clone_failed
from bridge.plugins.installed.exchange import Exchange
from bridge.plugins.installed.ids import RECORDS
from bridge.plugins.installed.keys import KEYS, MARKS
from bridge.plugins.installed.records import Record, read_records, recorded
from bridge.plugins.operations.candidate import Pin
from bridge.plugins.operations.settlement import recover
from bridge.protocol.errors import BridgeError, Code
from bridge.store import Drop, Put

from ..clone.remotes import FakeUpstream, new_commits
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

ASKED = ["update awaiting_confirmation", "ask update"]
CHECKED = ["update clone", "clone", "update validate", "update policy"]
SIGNED = "update signature"
ROTATED = ["rotate_key awaiting_confirmation", "ask rotate_key"]
TRUSTED = ["trust_key awaiting_confirmation", "ask trust_key"]
NEW = "export default 2;\n"


class UpdateTestCase(SynchronousTestCase):
    """A test with ``good`` installed, and a later one in its repository."""

    def setUp(self):
        """Make them."""
        self.bench = Bench(self)
        self.events = self.bench.events
        self.bench.publish("good")
        self.successResultOf(self.bench.install(url_of("good")))
        kept = [Put("plugin:good", "colour", "red")]
        self.successResultOf(self.bench.store.commit(kept))
        self.bench.clock.advance(60)
        self.publish()
        self.start()

    def start(self):
        """Compare with what is there now."""
        self.events.clear()
        self.bench.sink.progresses.clear()
        self.before = self.state()

    def publish(self, version="1.1.0", **how):
        """Publish a later ``good``."""
        text = manifest("good", version=version)
        files = files_of("good", **{"plugin.json": text, "main.ts": NEW})
        how = {"signed_as": "good", "signed_at": NOW + 10, **how}
        self.bench.publish("good", files, **how)

    def state(self):
        """All that is there, the code too."""
        tree = self.bench.data.plugin("good")
        code = (tree / "main.ts").read_text() if tree.exists() else None
        return *self.bench.left(), code, self.bench.journal.exists()

    def update(self, plugin_id="good"):
        """Begin an update; the answer is written into the events."""
        updating = self.bench.update(plugin_id)

        def answered(result):
            self.events.append("answer")
            return result

        return updating.addBoth(answered)

    def updated(self):
        """Update; the list entry."""
        result = self.successResultOf(self.update())
        self.assertTrue(result.updated)
        return result.plugin

    def refusal(self, code=Code.BAD_REQUEST):
        """Fail to update; the message.  All is as before."""
        error = self.failureResultOf(self.update(), BridgeError).value
        self.assertEqual(error.code, code)
        self.assertEqual(self.state(), self.before)
        return error.message


class UpdateTests(UpdateTestCase):
    """Tests for what goes well."""

    def test_steps_pushes_and_prompts(self):
        """All happens in this order, and the pushes precede the answer."""
        self.updated()
        self.assertEqual(
            self.events,
            [
                *ASKED,
                *CHECKED,
                SIGNED,
                "update move",
                "push plugins good",
                "update build",
                "run good",
                "push build ok good",
                "answer",
            ],
        )

    def assert_nothing_done(self, updating):
        """An update has found nothing new, and was nobody's business."""
        result = self.successResultOf(updating)
        self.assertFalse(result.updated)
        record = recorded(self.bench.store, "good")
        entry = self.bench.trees.entry("good", record)
        self.assertEqual(result.plugin, entry)
        self.assertEqual(self.state(), self.before)
        self.assertEqual(self.bench.approver.prompts, [])
        self.assertEqual(set(self.events) - {"answer"}, set())

    def test_nothing_new(self):
        """The installed commit is the latest: nothing is asked, cloned or built."""
        self.bench.approver.prompts.clear()
        self.bench.upstream.answers[url_of("good")] = new_commits(0, COMMIT)
        self.assert_nothing_done(self.update())

    def test_nothing_new_in_what_was_previewed(self):
        """Nor is the repository looked at for a preview of the installed commit."""
        self.bench.approver.prompts.clear()
        self.bench.upstream.answers[url_of("good")] = KeyError("not asked")
        pin = Pin(COMMIT, "d" * 64)
        self.assert_nothing_done(self.bench.update("good", pin))

    def test_changed_tree_of_the_latest_commit(self):
        """A tree that was changed is put right, though its commit is the latest."""
        self.bench.upstream.answers[url_of("good")] = new_commits(0, COMMIT)
        (self.bench.data.plugin("good") / "main.ts").write_text("changed")
        self.updated()

    def test_unreachable(self):
        """A repository that can't be looked at refuses before anything is asked."""
        self.bench.approver.prompts.clear()
        self.bench.upstream.answers[url_of("good")] = clone_failed("nobody is there")
        self.assertEqual(self.refusal(), "clone_failed: nobody is there")
        self.assertEqual(self.bench.approver.prompts, [])

    def test_cancelled_while_it_looks(self):
        """A look at a repository that does not answer can be cancelled."""
        self.patch(FakeUpstream, "tip", lambda upstream, url: _never())
        updating = self.update()
        (running,) = [o for o in self.bench.jobs.recent() if not o.outcome]
        self.successResultOf(self.bench.jobs.cancel(running.name))
        error = self.failureResultOf(updating, BridgeError).value
        self.assertTrue(error.message.startswith("cancelled: "))

    def test_answer(self):
        """The answer is the new list entry, which pages were pushed, too."""
        entry = self.updated()
        self.assertEqual(entry.version, "1.1.0")
        self.assertEqual(entry.installed_at, "2023-11-14T22:13:20Z")
        self.assertEqual(entry.updated_at, "2023-11-14T22:14:20Z")
        self.assertEqual(self.bench.sink.entries[-1], [entry])

    def test_what_is_kept(self):
        """Tree, record, key and mark are the new ones; settings stay, nothing else."""
        self.updated()
        names, values, code, journal = self.state()
        self.assertEqual((names, code, journal), (["good"], NEW, False))
        self.assertEqual(
            values[RECORDS]["good"],
            {
                "url": url_of("good"),
                "commit": COMMIT,
                "keyId": KEY,
                "signedAt": NOW + 10,
                "installedAt": NOW * 1000,
                "updatedAt": (NOW + 60) * 1000,
            },
        )
        self.assertEqual(values[KEYS][KEY]["lastUsedAt"], (NOW + 60) * 1000)
        self.assertEqual(values[MARKS], {"good": {KEY: NOW + 10}})
        self.assertEqual(values["plugin:good"], {"colour": "red"})

    def test_prompt_shows_what_is_installed(self):
        """The prompt shows the host, and today's version and commit."""
        self.updated()
        prompt = self.bench.approver.prompts[-1]
        self.assertIn("Host: forge.example\n", prompt.body)
        self.assertIn(f"version 1.0.0, commit {COMMIT}", prompt.body)

    def test_same_version(self):
        """The same version, signed at the same time or later, is accepted."""
        for signed_at in (NOW, NOW + 20):
            self.publish("1.0.0", signed_at=signed_at)
            self.assertEqual(self.updated().version, "1.0.0")

    def test_clock_set_back(self):
        """Each update is later than the one before, whatever the clock shows."""
        self.bench.clock.rightNow = NOW - 100
        self.publish(signed_at=NOW)
        self.updated()
        self.updated()
        record = self.bench.store.entries(RECORDS)["good"]
        self.assertEqual(record["updatedAt"], NOW * 1000 + 2)

    def test_tree_that_is_gone(self):
        """A plugin whose tree is gone is whole after an update."""
        self.bench.trees.remove(self.bench.data.plugin("good"))
        self.updated()
        self.assertIn("version unknown", self.bench.approver.prompts[-1].body)
        self.assertEqual(self.state()[2], NEW)

    def test_manifest_that_cannot_be_read(self):
        """Without an installed version, none is too low."""
        (self.bench.data.plugin("good") / "plugin.json").write_text("{")
        self.publish("0.0.1")
        self.assertEqual(self.updated().version, "0.0.1")


class RefusalTests(UpdateTestCase):
    """Tests for each step that refuses: its prefix, its pushes, and no trace."""

    def expect(self, events):
        """Compare what happened."""
        self.assertEqual(self.events, [*events, "answer"])

    def test_ids(self):
        """What is no id, and what is not installed, is refused without a prompt."""
        for plugin_id, prefix in (
            ("../x", "invalid_id: "),
            ("Good", "invalid_id: "),
            ("x", "invalid_id: "),
            ("good\n", "invalid_id: "),
            ("other", "not_installed: "),
        ):
            error = self.failureResultOf(self.update(plugin_id), BridgeError).value
            self.assertTrue(error.message.startswith(prefix), error.message)
        self.assertEqual(set(self.events), {"answer"})

    def test_record_without_a_key(self):
        """A plugin from before there were signatures has to be installed again."""
        old = Record(url_of("good"), COMMIT, "", 0, 1, 1)
        self.successResultOf(self.bench.store.commit([old.put("good")]))
        self.start()
        self.assertTrue(self.refusal().startswith("reinstall_required: "))
        self.expect([])

    def test_damaged_url(self):
        """A recorded URL that is not one is refused without a prompt."""
        odd = Record("file:///etc", COMMIT, KEY, NOW, 1, 1)
        self.successResultOf(self.bench.store.commit([odd.put("good")]))
        self.start()
        self.assertTrue(self.refusal().startswith("not_https: "))
        self.expect([])

    def test_no_prompt(self):
        """Without a prompt nothing is fetched."""
        self.bench.approver.answers = [no_desktop()]
        self.assertEqual(self.refusal(), "approval_unavailable: no desktop")

    def test_unsigned(self):
        """A later version that nobody signed is refused."""
        (self.bench.repositories / "good" / "main.ts").write_text("edited")
        self.assertTrue(self.refusal().startswith("unsigned: "))

    def test_another_plugin(self):
        """A repository that has become another plugin's is refused."""
        files = files_of("evil", **{"plugin.json": manifest("evil", version="9.0.0")})
        self.bench.publish("good", files, signed_as="evil", signed_at=NOW + 10)
        self.assertEqual(
            self.refusal(), "manifest_invalid: id: the repository now holds evil"
        )
        self.expect([*ASKED, *CHECKED, SIGNED])

    def test_lower_version(self):
        """A lower version is a downgrade, however late it was signed."""
        self.publish("0.9.9")
        self.assertEqual(
            self.refusal(),
            "downgrade: version 0.9.9 is lower than 1.0.0, which is installed; "
            "uninstall that first to go back to it",
        )

    def test_earlier_signature(self):
        """A tree signed before the installed one is refused, by whatever key."""
        for seed in ({}, {"seed": OTHER_SEED}):
            self.publish(signed_at=NOW - 1, **seed)
            self.assertTrue(self.refusal().startswith("downgrade: it was signed at "))
        self.assertNotIn("ask rotate_key", self.events)

    def test_replay_of_an_older_tree(self):
        """A tree signed before one that the plugin once had is refused."""
        later = Put(MARKS, "good", {KEY: NOW + 11})
        self.successResultOf(self.bench.store.commit([later]))
        self.start()
        self.assertTrue(self.refusal().startswith("downgrade: it was signed at "))


class KeyTests(UpdateTestCase):
    """Tests for updates that are signed with another key."""

    def setUp(self):
        """Publish one."""
        super().setUp()
        self.publish(seed=OTHER_SEED)

    def test_unknown_key(self):
        """A key that is not known is asked for twice: whether to change, and trust."""
        self.assertEqual(self.updated().key_id, OTHER_KEY)
        expected = [*ASKED, *CHECKED, SIGNED, *ROTATED, *TRUSTED, "update move"]
        self.assertEqual(self.events[: len(expected)], expected)
        rotate = self.bench.approver.prompts[-2]
        self.assertIn(f"Old key: {KEY}\nNew key: {OTHER_KEY}\n", rotate.body)
        self.assertTrue(self.bench.trust.is_trusted(KEY))
        self.assertTrue(self.bench.trust.is_trusted(OTHER_KEY))
        self.assertEqual(self.bench.trust.mark("good", OTHER_KEY), NOW + 10)

    def test_key_that_is_trusted_for_another_plugin(self):
        """A known key still has to be accepted for this plugin, every time."""
        self.bench.publish("other", seed=OTHER_SEED)
        self.successResultOf(self.bench.install(url_of("other")))
        for seed in (OTHER_SEED, b"\x01" * 32):
            self.events.clear()
            self.publish(seed=seed)
            self.updated()
            self.assertIn("ask rotate_key", self.events)
            self.assertNotIn("ask trust_key", self.events)

    def test_refused_change(self):
        """A key that the user does not accept changes nothing."""
        self.bench.approver.answers = [True, False]
        self.assertEqual(
            self.refusal(), "not_trusted: the author's key was not accepted"
        )
        self.bench.approver.answers = [True, True, False]
        self.assertTrue(self.refusal().startswith("not_trusted: "))
        self.bench.approver.answers = [True, no_desktop()]
        self.assertTrue(self.refusal().startswith("approval_unavailable: "))

    def test_forgotten_key(self):
        """After its key was forgotten, an update asks whether to trust it."""
        self.publish()
        self.successResultOf(self.bench.store.commit(self.bench.trust.forgetting(KEY)))
        self.updated()
        self.assertNotIn("ask rotate_key", self.events)
        self.assertIn("ask trust_key", self.events)

    def test_key_forgotten_meanwhile(self):
        """A key that was forgotten before the commit is not accepted by it."""
        self.publish()
        self.successResultOf(self.bench.jobs.commit_lock.acquire())
        updating = self.update()
        self.successResultOf(self.bench.store.commit(self.bench.trust.forgetting(KEY)))
        self.bench.jobs.commit_lock.release()
        error = self.failureResultOf(updating, BridgeError).value
        self.assertTrue(error.message.startswith("not_trusted: "))
        self.assertEqual(self.state()[2], self.before[2])

    def test_rollback(self):
        """A build that fails takes the new key and its mark back."""
        self.bench.builder.outcomes = ["no such module"]
        self.refusal()
        self.assertFalse(self.bench.trust.is_trusted(OTHER_KEY))
        self.assertEqual(self.bench.trust.mark("good", OTHER_KEY), 0)


class RollbackTests(UpdateTestCase):
    """Tests for a build, or a disk, that fails."""

    def after_move(self):
        """What happened from the move on."""
        return self.events[self.events.index("update move") :]

    def test_build_failed(self):
        """The tree and all values are as before; each step is reported to pages."""
        self.bench.builder.outcomes = ["no such module"]
        self.assertEqual(self.refusal(), "build_failed: no such module")
        self.assertEqual(
            self.after_move(),
            [
                "update move",
                "push plugins good",
                "update build",
                "run good",
                "push build failed good",
                "update rollback",
                "push plugins good",
                "run good",
                "push build ok good",
                "answer",
            ],
        )
        self.assertEqual(self.bench.sink.entries[-1][0].version, "1.0.0")

    def test_lost_state_file(self):
        """What was refused does not come back when only the file before is left."""
        self.publish(seed=OTHER_SEED)
        self.start()
        self.bench.builder.outcomes = ["no such module"]
        self.refusal()
        path = self.bench.data.state
        previous = path.with_name("state.json.bak").read_text()
        self.assertEqual(previous, path.read_text())
        self.assertNotIn(OTHER_KEY, previous)

    def test_settings_made_meanwhile(self):
        """What the page saved during the build is not rolled back."""
        saved = Put("plugin:good", "colour", "blue")
        self.bench.threads.before = {"verify": lambda: self.bench.store.commit([saved])}
        self.bench.builder.outcomes = ["no such module"]
        self.failureResultOf(self.update(), BridgeError)
        self.assertEqual(self.bench.store.get("plugin:good", "colour"), "blue")

    def full_disk(self):
        """Let the build fail, and nothing be written from then on."""
        writes = self.bench.writes
        full = {"replace": OSError(28, "No space left")}
        self.bench.threads.before = {"verify": lambda: setattr(writes, "failing", full)}
        self.bench.builder.outcomes = ["no such module"]
        self.assertEqual(self.refused(), "build_failed: no such module")

    def refused(self):
        """Fail to update; the message."""
        return self.failureResultOf(self.update(), BridgeError).value.message

    def test_full_disk_while_it_is_taken_back(self):
        """The old set is read, listed, built and trusted at once."""
        self.publish(seed=OTHER_SEED)
        self.start()
        self.full_disk()
        *before, journal = self.state()
        self.assertEqual([*before, False], list(self.before))
        self.assertTrue(journal)
        self.assertFalse(self.bench.trust.is_trusted(OTHER_KEY))
        self.assertEqual(self.bench.sink.entries[-1][0].version, "1.0.0")
        self.assertEqual(self.events[-2:], ["push build ok good", "answer"])

    def test_space_again_after_a_full_disk(self):
        """Any write takes it back in the file; the next operation is not refused."""
        path = self.bench.data.state
        self.full_disk()
        self.assertIn(b'"signedAt":%d' % (NOW + 10), path.read_bytes())
        self.bench.writes.failing = {}
        self.successResultOf(self.bench.store.commit([Put("host", "k", 1)]))
        self.assertNotIn(b'"signedAt":%d' % (NOW + 10), path.read_bytes())
        self.assertEqual(self.updated().version, "1.1.0")
        self.assertEqual(self.state()[0], ["good"])
        self.assertEqual(self.state()[2:], (NEW, False))

    def test_killed_after_a_full_disk(self):
        """A start takes back what was answered as refused."""
        self.full_disk()
        self.bench = bench = Bench(at=self.bench.data.root.parent)
        self.assertEqual(bench.store.entries(RECORDS)["good"]["signedAt"], NOW + 10)
        recovered = recover(bench.journal, bench.store, bench.trees)
        assert recovered is not None
        bench.settlement.resume(bench.jobs, recovered)
        self.assertEqual(self.state(), self.before)
        previous = bench.data.state.with_name("state.json.bak")
        self.assertEqual(previous.read_bytes(), bench.data.state.read_bytes())

    def test_disk_that_stays_full(self):
        """The next operation is refused for the disk, and changes nothing either."""
        self.full_disk()
        after = self.state()
        with capturedLogs() as logged:
            self.assertIn("could not be written: No space left", self.refused())
        self.assertEqual(self.state(), after)
        whys = [event["why"] for event in logged if "why" in event]
        self.assertEqual(whys, [])

    def test_trees_that_cannot_be_put_back(self):
        """Nothing of the plugin is built until they are, by the next operation."""
        self.bench.builder.outcomes = ["no such module"]
        broken = mock.patch.object(Exchange, "undo", side_effect=OSError(5, "I/O"))
        with broken:
            self.refused()
            self.assertEqual(self.events[-2:], ["push build ok", "answer"])
            listing = self.bench.trees.listing(read_records(self.bench.store))
            (fault,) = listing.broken
            self.assertIn("can't be taken back yet", fault.reason)
            self.assertEqual(self.state()[2:], (NEW, True))
        self.flushLoggedErrors(OSError)
        self.assertEqual(self.updated().version, "1.1.0")
        self.assertIn("version 1.0.0", self.bench.approver.prompts[-1].body)
        self.assertEqual(self.state()[2:], (NEW, False))
        self.assertEqual(self.state()[0], ["good"])

    def test_older_version_than_what_could_not_be_taken_back(self):
        """It is compared with what is installed, not with what was refused."""
        self.publish("3.0.0")
        self.bench.builder.outcomes = ["no such module"]
        with mock.patch.object(Exchange, "undo", side_effect=OSError(5, "I/O")):
            self.refused()
        self.flushLoggedErrors(OSError)
        self.publish("2.0.0")
        self.assertEqual(self.updated().version, "2.0.0")


class UnsettledInstallTests(UpdateTestCase):
    """Tests for an install whose tree can't be taken out again."""

    def test_next_operation_takes_it_out(self):
        """It is taken out, and leaves nothing, when something else is done."""
        self.bench.publish("other")
        self.bench.builder.outcomes = ["no such module"]
        with mock.patch.object(Exchange, "undo", side_effect=OSError(5, "I/O")):
            self.failureResultOf(self.bench.install(url_of("other")))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.assertEqual(self.state()[0], ["good", "other"])
        self.updated()
        self.assertEqual(self.state()[0], ["good"])


GROWN = ["grow awaiting_confirmation", "ask grow"]


class GrowthTests(UpdateTestCase):
    """Tests for an update that declares more than the installed version."""

    def grow(self, **fields):
        """Publish a later version that declares this, too."""
        text = manifest("good", version="1.1.0", **fields)
        files = files_of("good", **{"plugin.json": text, "main.ts": NEW})
        self.bench.publish("good", files, signed_at=NOW + 10)

    def install_with(self, **fields):
        """Have a version installed that declares this."""
        self.successResultOf(self.bench.uninstall("good"))
        text = manifest("good", **fields)
        self.bench.publish("good", files_of("good", **{"plugin.json": text}))
        later = [Drop(MARKS)]
        self.successResultOf(self.bench.store.commit(later))
        self.successResultOf(self.bench.install(url_of("good")))
        self.start()

    def test_asked_after_the_keys(self):
        """Keys are asked for first."""
        text = manifest("good", version="1.1.0", actions=["vrcLogin"])
        files = files_of("good", **{"plugin.json": text})
        self.bench.publish("good", files, seed=OTHER_SEED, signed_at=NOW + 10)
        self.updated()
        asked = [e for e in self.events if e.startswith("ask ")]
        self.assertEqual(
            asked, ["ask update", "ask rotate_key", "ask trust_key", "ask grow"]
        )

    def test_each_kind_of_gain_is_asked_for(self):
        """A gain of any kind needs the prompt."""
        for gain in (
            {"permissions": ["osc"]},
            {"optionalPermissions": ["osc"]},
            {"hosts": ["x.example"]},
            {"actions": ["vrcLogin"]},
            {"events": ["friend-online"]},
        ):
            self.grow(**gain)
            self.bench.approver.answers = [True, False]
            message = self.refusal()
            self.assertEqual(message, "denied: declined", gain)
            self.assertEqual(self.bench.approver.prompts[-1].operation, "grow")

    def test_no_gain_is_not_asked_for(self):
        """A version that declares the same, or less, needs no such prompt."""
        self.install_with(permissions=["network"], hosts=["x.example"])
        self.grow(permissions=["network"])
        self.updated()
        self.assertNotIn("ask grow", self.events)

    def test_attack_growth_hidden_in_optional(self):
        """An optional permission that becomes required needs the prompt."""
        self.install_with(optionalPermissions=["network"])
        self.grow(permissions=["network"])
        self.bench.approver.answers = [True, False]
        self.assertEqual(self.refusal(), "denied: declined")
        self.assertIn("Go online", self.bench.approver.prompts[-1].body)

    def test_attack_edited_manifest_hides_no_growth(self):
        """A tree that was changed on disk vouches for nothing: all of it is gained."""
        self.grow(permissions=["network"])
        path = self.bench.data.plugin("good") / "plugin.json"
        path.write_text(manifest("good", permissions=["network"]))
        self.start()
        self.bench.approver.answers = [True, False]
        self.assertEqual(self.refusal(), "denied: declined")

    def test_nobody_can_be_asked(self):
        """Without a prompt the old version runs on."""
        self.grow(hosts=["x.example"])
        self.bench.approver.answers = [True, no_desktop()]
        self.assertEqual(self.refusal(), "approval_unavailable: no desktop")

    def test_cancelled_while_asked(self):
        """A cancelled update withdraws the prompt, and the old version runs on."""
        self.grow(hosts=["x.example"])
        self.bench.approver.answers = [True, None]
        updating = self.update()
        running = self.bench.jobs.recent()[0]
        self.successResultOf(self.bench.jobs.cancel(running.name))
        error = self.failureResultOf(updating, BridgeError).value
        self.assertTrue(error.message.startswith("cancelled: "))
        self.assertEqual(self.state(), self.before)


class PinnedUpdateTests(UpdateTestCase):
    """Tests for an update to what was previewed."""

    def setUp(self):
        """Have a later commit in the repository."""
        super().setUp()
        self.bench.cloner.commit = "c" * 40

    def test_same_ref(self):
        """The same name is the same update."""
        ref = "page-chose-this-1"
        first = self.successResultOf(self.bench.update("good", None, ref))
        again = self.successResultOf(self.bench.update("good", None, ref))
        self.assertIs(first, again)
        self.assertEqual(self.events.count("ask update"), 1)


async def _never() -> str:
    """Wait until it is cancelled."""
    return await Deferred()
