"""Operations that are refused, also before they begin: nothing is left of them."""

import gc
import shutil

from twisted.logger import capturedLogs, formatEvent

from bridge.plugins.installed.records import KEYS, MARKS, Record
from bridge.plugins.tree.tree import Tree
from bridge.protocol.errors import Code, clone_failed
from bridge.store.state import Put, Remove

from ...waiting import in_memory
from .bench import (
    COMMIT,
    GOOD,
    GROWN,
    KEY,
    NOW,
    OTHER_SEED,
    ROTATED,
    SEED,
    TRUSTED,
    OperationTestCase,
    files_of,
    manifest,
    no_desktop,
    steps,
    url_of,
)

BAD = url_of("bad")
DECLINED = [False], "denied: declined"
UNAVAILABLE = [no_desktop()], "approval_unavailable: no desktop"
NOT_ACCEPTED = "not_trusted: the author's key was not accepted"
RECORD = Record(GOOD, COMMIT, KEY, NOW, 1, 1)


class RefusalTestCase(OperationTestCase):
    """A test with ``good`` in a repository."""

    operation = ""

    def setUp(self) -> None:
        super().setUp()
        self.bench.publish("good")
        gc.disable()
        self.addCleanup(gc.enable)

    def refuse(self, what: str, message: str, events: list[str], *answers) -> None:
        """
        Expect a refusal that leaves all as it is, and nothing to the collector.

        :param what: The URL, plugin id or key.
        :param message: How it begins.
        :param events: All that happens before the answer.
        """
        self.start()
        before = in_memory(Tree)
        found = self.refused(self.operation, what, answers=answers)
        self.assertEqual(in_memory(Tree), before)
        self.assertEqual(found[: len(message)], message)
        self.assertEqual(self.events, [*events, "answer"], message)

    def refuse_defects(self, what: str, names: list[str], error: Exception) -> None:
        """Expect that what breaks in a thread is undone, logged, and ``internal``."""
        self.start()
        for name in names:
            self.bench.threads.failing = {name: error}
            self.refused(self.operation, what, code=Code.INTERNAL)
            self.flushLoggedErrors(type(error))


class InstallRefusals(RefusalTestCase):
    operation = "install"

    def test_before_the_clone(self) -> None:
        """Without a yes nothing is fetched; why is logged; what breaks is no yes."""
        self.refuse("http://forge.example/good.git", "not_https: ", [])
        broken = [ZeroDivisionError()], "approval_unavailable: the prompt could not be"
        with capturedLogs() as logs:
            for answers, message in (DECLINED, UNAVAILABLE, broken):
                self.refuse(GOOD, message, steps("install", "ask"), *answers)
        lines = [str(formatEvent(event)) for event in logs]
        for _, why in (DECLINED, UNAVAILABLE):
            self.assertIn(f"install is refused: {why}", lines)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_signatures(self) -> None:
        """A tree that nobody signed, or not this tree, is refused."""
        self.bench.publish("bad", signed_as=None)
        for _ in range(2):
            self.refuse(BAD, "unsigned: ", steps("install", "signature"))
            self.bench.publish("bad", signed_as="good")

    def test_what_is_there_already(self) -> None:
        """An installed plugin is not replaced, and nor are its remains."""
        checked = steps("install", "signature")
        self.bench.data.plugin("good").mkdir()
        self.refuse(
            GOOD,
            "already_installed: good has a directory but no record; plugin-bridge "
            "doctor shows how to fix it",
            checked,
        )
        self.commit(RECORD.put("good"))
        installed = "already_installed: good is installed; update or uninstall it"
        self.refuse(GOOD, installed, checked)
        self.done("uninstall", "good")
        self.done("install", GOOD)
        self.bench.publish("bad", files_of("good"), signed_as="good", seed=OTHER_SEED)
        for url in (GOOD, BAD):
            self.refuse(url, installed, checked)
        # A page lists no plugin whose tree somebody has deleted.
        before = self.bench.left()
        shutil.rmtree(self.bench.data.plugin("good"))
        self.refuse(BAD, installed, checked)
        self.done("install", GOOD)
        self.assertEqual(self.bench.left()[0], before[0])
        self.bench.publish("good", seed=OTHER_SEED)
        shutil.rmtree(self.bench.data.plugin("good"))
        self.refuse(GOOD, NOT_ACCEPTED, [*checked, *ROTATED], True, False)
        self.bench.publish("good", signed_at=NOW - 1)
        self.refuse(GOOD, "downgrade: ", checked)

    def test_installed_as_a_preview_has_shown(self) -> None:
        """Without a question: there is nothing to say yes to."""
        self.done("install", GOOD)
        self.bench.keep("good")
        self.start()
        found = self.refused("install", GOOD, self.bench.pin_of("good"))
        self.assertEqual(
            found, "already_installed: good is installed; update or uninstall it"
        )
        self.assertEqual(self.events, ["answer"])

    def test_keys(self) -> None:
        """Older trees, and keys and permissions that nobody accepts, are refused."""
        checked = steps("install", "signature")
        for (answer,), message in (([False], NOT_ACCEPTED), UNAVAILABLE):
            self.refuse(GOOD, message, [*checked, *TRUSTED], True, answer)
        self.done("install", GOOD)
        self.bench.publish("bad", permissions=["network"])
        for (answer,), message in (DECLINED, UNAVAILABLE):
            self.refuse(BAD, message, [*checked, *GROWN], True, answer)
        self.done("uninstall", "good")
        self.commit(Put(MARKS, "good", {KEY: NOW + 1}))
        self.refuse(GOOD, "downgrade: ", checked)

    def test_defects(self) -> None:
        """A check that breaks leaves nothing."""
        names = ["load_manifest", "survey_tree", "verify_tree", "has"]
        self.refuse_defects(GOOD, names, OSError(5, "I/O error"))
        self.assertNotIn("move", self.events)

    def test_attack_url_is_not_repeated(self) -> None:
        """Neither refusals nor progress messages show more of the URL than its host."""
        secret = "s3cr3t-name"
        self.bench.publish(secret, files_of("good"), signed_as="good")
        self.bench.builder.outcomes = ["broken"]
        for answers in ([False], [True, False], [True, True]):
            asked = self.ask("install", url_of(secret), answers=answers)
            self.assertNotIn(secret, self.error(asked))
        for progress in self.bench.pushed["progress"]:
            self.assertNotIn(secret, progress["message"])
            self.assertNotIn("/plugins", progress["message"])

    def test_tree_that_appears_during_the_prompt(self) -> None:
        """What is there when the tree is to be moved is not replaced."""
        installing = self.ask("install", GOOD, answers=[True, None])
        self.bench.data.plugin("good").mkdir()
        self.bench.approver.open[0].callback(None)
        self.assertTrue(self.error(installing).startswith("already_installed: "))
        self.assertEqual(self.bench.left(), (["good"], {}))
        self.assertEqual(self.events[-2:], ["move", "answer"])


class UpdateRefusals(RefusalTestCase):
    operation = "update"

    def setUp(self) -> None:
        super().setUp()
        self.bench.publish("good", optionalPermissions=["network"])
        self.done("install", GOOD)
        self.later = self.bench.publish_later
        self.later()

    def test_before_the_prompt(self) -> None:
        """What can't be updated is refused without a prompt."""
        for plugin_id in ("../x", "Good", "x", "good\n"):
            self.refuse(plugin_id, "invalid_id: ", [])
        self.refuse("other", "not_installed: ", [])
        self.bench.cloner.answers[GOOD] = clone_failed("no host")
        self.refuse("good", "clone_failed: no host", [])
        for record, message in (
            (Record(GOOD, COMMIT, "", 0, 1, 1), "reinstall_required: "),
            (Record("file:///etc", COMMIT, KEY, NOW, 1, 1), "not_https: "),
        ):
            self.commit(record.put("good"))
            self.refuse("good", message, [])

    def test_what_was_fetched(self) -> None:
        """Another plugin, an older one, and what nobody signed is refused."""
        checked, earlier = steps("update", "signature"), "downgrade: it was signed at "
        self.later("0.9.9")
        lower = (
            "downgrade: version 0.9.9 is lower than 1.0.0, which is installed; "
            "uninstall that first to go back to it"
        )
        self.refuse("good", lower, checked)
        for seed in (SEED, OTHER_SEED):
            self.later(at=-1, seed=seed)
            self.refuse("good", earlier, checked)
        evil = {"plugin.json": manifest("evil", version="9.0.0")}
        self.bench.publish("good", evil, signed_as="evil", signed_at=NOW + 10)
        became = "manifest_invalid: id: the repository now holds evil"
        self.refuse("good", became, checked)
        (self.bench.repositories / "good" / "main.ts").write_text("edited")
        self.refuse("good", "unsigned: ", checked)
        self.later()
        self.commit(Put(MARKS, "good", {KEY: NOW + 11}))
        self.refuse("good", earlier, checked)

    def test_keys(self) -> None:
        """Whether the key may change, and be trusted, are questions of their own."""
        rotated = [*steps("update", "signature"), *ROTATED]
        self.later(seed=OTHER_SEED)
        self.refuse("good", NOT_ACCEPTED, rotated, True, False)
        self.refuse("good", NOT_ACCEPTED, [*rotated, *TRUSTED], True, True, False)
        self.refuse("good", UNAVAILABLE[1], rotated, True, no_desktop())

    def test_attack_hidden_growth(self) -> None:
        """Neither an optional permission nor an edit on the disk hides what is new."""
        grown = [*steps("update", "signature"), *GROWN]
        self.later(permissions=["network"])
        edited = manifest("good", permissions=["network"])
        for text in (None, edited):
            if text is not None:
                (self.bench.data.plugin("good") / "plugin.json").write_text(text)
            for (answer,), message in (DECLINED, UNAVAILABLE):
                self.refuse("good", message, grown, True, answer)
                self.assertIn("Go online", self.bench.approver.prompts[-1].body)


class RemovalRefusals(RefusalTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.done("install", GOOD)

    def test_uninstall(self) -> None:
        """No id, no plugin, no yes, or a disk that fails: nothing is removed."""
        self.operation = "uninstall"
        for plugin_id in ("../x", ".."):
            self.refuse(plugin_id, "invalid_id: ", [])
        self.refuse("gone", "not_installed: ", [])
        for answers, message in (DECLINED, UNAVAILABLE):
            self.refuse("good", message, steps("uninstall", "ask"), *answers)
        full = OSError(28, "No space left on device")
        self.refuse_defects("good", ["begin", "do"], full)

    def test_forget_key(self) -> None:
        """A key that is not accepted is refused without a prompt."""
        self.operation = "forget_key"
        for key in ("", "0000", KEY + "\n"):
            self.refuse(key, "not_trusted: ", [])
        for answers, message in (DECLINED, UNAVAILABLE):
            self.refuse(KEY, message, steps("forget_key", "ask"), *answers)

    def test_key_forgotten_meanwhile(self) -> None:
        """A key that was forgotten before the commit is not accepted by it."""
        self.bench.publish_later()
        self.bench.publish("other")
        kept = [Put(KEYS, KEY, self.bench.store.get(KEYS, KEY)), Remove(MARKS)]
        for operation, what in (("install", url_of("other")), ("update", "good")):
            self.successResultOf(self.bench.jobs.commit_lock.acquire())
            asked = self.ask(operation, what)
            self.commit(*self.bench.trust.forgetting(KEY))
            self.start()
            self.bench.jobs.commit_lock.release()
            self.assertTrue(self.error(asked).startswith("not_trusted: "), operation)
            self.assertEqual(self.bench.left(), (["good"], self.before[1]))
            self.commit(*kept)
