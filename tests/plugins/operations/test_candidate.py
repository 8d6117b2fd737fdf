"""Candidates for an installation, and the tree that is kept; see ``test_refusals``."""

import shutil
from functools import partial
from pathlib import Path

from attrs import evolve
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.operations.candidate import Pin
from bridge.plugins.operations.jobs import Job, Request, cancelled
from bridge.plugins.tree.manifest import Manifest
from bridge.plugins.tree.tree import Tree
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError
from bridge.protocol.steps import Operation

from .bench import (
    COMMIT,
    GOOD,
    KEY,
    NOW,
    OTHER_KEY,
    OTHER_SEED,
    Bench,
    candidate_of,
    files_of,
    url_of,
    write_tree,
)

PIN = Pin("a" * 40, "b" * 64)
MANIFEST = Manifest("good", "Good", "1.0.0", "^0.1.0")


class CandidateTestCase(SynchronousTestCase):
    """A test with ``good`` in a repository, and an operation."""

    def setUp(self):
        self.bench = Bench(self)
        self.bench.publish("good")
        self.running = Job(Request(Operation.INSTALL), self.bench.sink.progress)

    def fetch(self, name="good", pin=None):
        fetching = self.bench.fetcher.fetch(self.running, url_of(name), pin)
        return Deferred.fromCoroutine(fetching)


class CandidateFetcherTests(CandidateTestCase):
    def test_every_hit_is_logged(self):
        """The refusal names the first breach of the policy, the log all of them."""
        breaches = {"a.ts": "eval('a');\nnew Function('b');\n", "b.ts": "'no end"}
        self.bench.publish("evil", breaches)
        with capturedLogs() as logged:
            error = self.failureResultOf(self.fetch("evil"), BridgeError).value
        self.assertEqual(error.message, "policy: a.ts:1 eval")
        hits = [event["hit"] + event["why"] for event in logged if "hit" in event]
        self.assertEqual(hits[0], "a.ts:1 eval")
        self.assertTrue(hits[1].startswith("a.ts:2 "), hits)
        why = "syntax error: Unterminated string literal"
        self.assertEqual(hits[-1], f"b.ts:1 {why}")

    def test_slow_clone_goes_on_being_reported(self):
        """While a host sends nothing, pages see every few seconds that it goes on."""
        self.bench.clones.slow = "clone"
        fetching = self.fetch()
        for _ in range(3):
            self.bench.clock.advance(limits.CLONE_REPORT_SECONDS)
        messages = [p["message"] for p in self.bench.pushed["progress"]]
        self.assertEqual(messages, ["Cloning from forge.example"] * 4)
        self.bench.clones.go_on()
        self.successResultOf(fetching)
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])

    def test_more_clones_than_places_wait(self):
        """A clone that waits for others says so, goes on when one ends, and can end."""
        self.bench.clones.slow = "clone"
        held = [self.fetch() for _ in range(limits.CLONES_AT_ONCE)]
        runnings = [
            Job(Request(Operation.INSTALL), self.bench.sink.progress) for _ in range(2)
        ]
        waiting, other = (
            Deferred.fromCoroutine(self.bench.fetcher.fetch(one, url_of("good")))
            for one in runnings
        )
        message = "Waiting for another clone to end"
        self.assertEqual([one.message for one in runnings], [message] * 2)
        runnings[1].interrupt(cancelled("the operation was cancelled"))
        self.failureResultOf(other, CancelledError)
        self.bench.clones.go_on()
        for fetching in (*held, waiting):
            self.successResultOf(fetching)
        self.assertNotEqual(runnings[0].message, message)

    def test_cancelled_scan_ends_at_once(self):
        """A scan does not hold a cancelled operation up."""
        self.bench.threads.slow = "survey_tree"
        fetching = self.fetch()
        self.running.interrupt(cancelled("the operation was cancelled"))
        self.failureResultOf(fetching, CancelledError)

    def test_cancelled_while_a_step_runs(self):
        """No further step begins, so the last one that pages saw is the one it was."""
        why = cancelled("the operation was cancelled")
        for name, step in (("load_manifest", "validate"), ("survey_tree", "policy")):
            job = self.running = Job(
                Request(Operation.INSTALL), self.bench.sink.progress
            )
            self.bench.threads.before = {name: partial(job.interrupt, why)}
            self.failureResultOf(self.fetch())
            self.assertEqual(job.step, step)


class PinnedTests(CandidateTestCase):
    def setUp(self):
        super().setUp()
        self.pin = self.bench.pin_of("good")

    def refusal(self):
        """Fail to fetch it; the message.  Only what the operation removes stays."""
        fetching = self.fetch(pin=self.pin)
        error = self.failureResultOf(fetching, BridgeError).value
        left = {path.name for path in self.running.clones}
        self.assertLessEqual(set(self.bench.left()[0]), left)
        return error.message

    def test_kept_tree_is_taken(self):
        """Nothing is cloned again; the tree goes through every check again."""
        root = self.bench.keep("good")
        candidate = self.successResultOf(self.fetch(pin=self.pin))
        self.bench.clock.advance(limits.PREVIEW_KEPT_SECONDS)
        self.assertTrue(root.exists())
        self.assertEqual((candidate.root, candidate.pin), (root, self.pin))
        self.assertEqual(
            self.bench.events, ["clone", "validate", "policy", "signature"]
        )
        # Without a kept tree the same tree is cloned.
        self.bench.events.clear()
        self.assertEqual(self.successResultOf(self.fetch(pin=self.pin)).pin, self.pin)
        self.assertEqual(self.bench.events[:2], ["clone", "clone"])

    def test_attack_moved_since_the_preview(self):
        """Another commit is refused unread, and so are other files for the same."""
        self.bench.cloner.commit = "d" * 40
        self.assertTrue(self.refusal().startswith("moved: "))
        self.assertNotIn("validate", self.bench.events)
        self.bench.cloner.commit = COMMIT
        self.bench.publish("good", {"extra.ts": "export {};\n"})
        self.assertTrue(self.refusal().startswith("moved: "))

    def test_attack_kept_tree_swapped_on_disk(self):
        """A program that changes the kept files installs nothing by that."""
        for swap in (
            lambda root: (root / "main.ts").write_text("evil();\n"),
            lambda root: write_tree(
                root, {"main.ts": "export default 9;\n"}, "good", OTHER_SEED
            ),
            lambda root: (root / "more.ts").symlink_to("/etc/passwd"),
            shutil.rmtree,
        ):
            swap(self.bench.keep("good"))
            message = self.refusal()
            self.assertEqual(
                message, "moved: the previewed files were changed on this computer"
            )
        self.assertNotIn("validate", self.bench.events)

    def test_attack_signature_swapped_on_disk(self):
        """The same files by another author are refused, though the digest is right."""
        root = self.bench.keep("good")
        signature = (root / "plugin.sig").read_bytes()
        broken = signature.replace(KEY[:4].encode(), b"0000")
        (root / "plugin.sig").write_bytes(broken[:-20] + b'"signedAt": 1}')
        message = self.refusal()
        self.assertTrue(message.startswith("unsigned: "), message)

    def test_attack_kept_tree_of_another_url(self):
        """A pin that was copied to another GOOD takes nothing; that one is cloned."""
        root = self.bench.keep("good")
        self.bench.publish("evil", files_of("good"), signed_as="good", seed=OTHER_SEED)
        fetching = self.fetch("evil", self.pin)
        # The files are the same, so the pin holds; the key is the other one's.
        candidate = self.successResultOf(fetching)
        self.assertNotEqual(candidate.root, root)
        self.assertEqual(candidate.signed.key_id, OTHER_KEY)


class KeptCandidateTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.bench = Bench(self)
        self.fetcher = self.bench.fetcher
        self.root = self.keep()

    def keep(self, pin: Pin = PIN) -> Path:
        root = self.bench.trees.fresh()
        root.mkdir()
        candidate = candidate_of(GOOD, MANIFEST, root=root, pin=pin)
        until = self.fetcher.keep(evolve(candidate, tree=Tree({"main.ts": b""})))
        self.assertEqual(until, int((NOW + limits.PREVIEW_KEPT_SECONDS) * 1000))
        return root

    def test_attack_another_tree_is_not_given_out(self) -> None:
        """Another GOOD, commit or digest gets none."""
        for url, pin in (
            (GOOD + "x", PIN),
            (GOOD, Pin("c" * 40, PIN.digest)),
            (GOOD, Pin(PIN.commit, "c" * 64)),
        ):
            self.assertIsNone(self.fetcher.kept(url, pin))
        self.assertIsNone(self.fetcher.kept(GOOD, None))
        kept = self.fetcher.kept(GOOD, PIN)
        # Its files are on the disk, not for ten minutes in memory too.
        self.assertEqual((kept.manifest, kept.tree.files), (MANIFEST, {}))

    def test_removed(self) -> None:
        """It goes when its time is over, for the next one, and by the next start."""
        other = self.keep(Pin("c" * 40, "d" * 64))
        self.assertFalse(self.root.exists())
        self.bench.clock.advance(limits.PREVIEW_KEPT_SECONDS - 1)
        self.assertTrue(other.exists())
        self.bench.clock.advance(1)
        self.assertFalse(other.exists())
        self.bench.clock.rightNow = 0
        killed = self.keep()
        self.bench.trees.sweep()
        self.assertFalse(killed.exists())

    def test_drop(self) -> None:
        """The end of the daemon removes it."""
        self.successResultOf(self.fetcher.close())
        self.assertFalse(self.root.exists())
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])

    def test_removing_fails(self) -> None:
        """That is logged, and harms nothing."""
        self.bench.threads.failing = {"remove": OSError(5, "I/O error")}
        self.successResultOf(self.fetcher.close())
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
