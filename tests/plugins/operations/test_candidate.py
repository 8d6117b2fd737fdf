"""Candidates for an installation; each refusal is in ``test_install``."""

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.operations.running import Running
from bridge.protocol.errors import BridgeError

from .bench import COMMIT, KEY, Bench, files_of, url_of


class CandidateFetcherTests(SynchronousTestCase):
    """Tests for ``CandidateFetcher``."""

    def setUp(self):
        """Make one, and an operation."""
        self.bench = Bench(self)
        self.running = Running(Operation.UPDATE, "good", self.bench.audience)

    def fetch(self, name):
        """Fetch what is in a repository."""
        fetching = self.bench.fetcher.fetch(self.running, url_of(name))
        return Deferred.fromCoroutine(fetching)

    def test_candidate(self):
        """A candidate is a clone, what it says it is, and who signed it."""
        self.bench.publish("good")
        candidate = self.successResultOf(self.fetch("good"))
        self.assertEqual(candidate.manifest.id, "good")
        self.assertEqual((candidate.url, candidate.commit), (url_of("good"), COMMIT))
        self.assertEqual(candidate.signed.key_id, KEY)
        self.assertTrue((candidate.root / "main.ts").is_file())
        self.assertTrue(candidate.root.name.startswith(".tmp-"))

    def test_undo(self):
        """Undoing the operation removes the clone."""
        self.bench.publish("good")
        self.successResultOf(self.fetch("good"))
        self.successResultOf(Deferred.fromCoroutine(self.running.undo.run()))
        self.assertEqual(self.bench.left(), ([], {}))

    def test_progress_of_another_operation(self):
        """The steps are reported as those of the operation they are part of."""
        self.bench.publish("good")
        self.successResultOf(self.fetch("good"))
        reported = {(p.op, p.id) for p in self.bench.audience.progresses}
        self.assertEqual(reported, {("update", "good")})

    def test_every_hit_is_logged(self):
        """The refusal names the first breach of the policy, the log all of them."""
        files = files_of("evil", **{"a.ts": "eval('a');\nnew Function('b');\n"})
        self.bench.publish("evil", files)
        with capturedLogs() as logged:
            error = self.failureResultOf(self.fetch("evil"), BridgeError).value
        self.assertEqual(error.message, "policy: a.ts:1 eval")
        hits = [event["hit"] for event in logged if "hit" in event]
        self.assertEqual(hits[0], "a.ts:1 eval")
        self.assertTrue(hits[1].startswith("a.ts:2 "), hits)

    def test_api_may_be_imported(self):
        """The module that the host provides is no file outside the plugin."""
        main = "import { definePlugin } from '@bridge/plugin-api';\ndefinePlugin({});\n"
        self.bench.publish("good", files_of("good", **{"main.ts": main}))
        self.successResultOf(self.fetch("good"))
