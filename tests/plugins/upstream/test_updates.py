from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

import bridge.plugins.upstream.updates as module
from bridge.plugins.installed.records import Record
from bridge.plugins.upstream.updates import Unknown, Update, Updates, UpdatesResult
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, clone_failed, shutting_down

from ..clone.remotes import LATEST, FakeRemotes, new_commits
from ..operations.bench import COMMIT, Bench, url_of

LATE = 3.4
FRESH = 60


def ids_of(answer: UpdatesResult) -> list[str]:
    """The ids of the plugins that are behind."""
    return [update.id for update in answer.updates]


class UpdatesTestCase(SynchronousTestCase):
    """Looks for updates, in time that the test makes pass."""

    def setUp(self) -> None:
        bench = Bench(self)
        self.store, self.clock = bench.store, bench.clock
        self.upstream = FakeRemotes()
        self.updates = Updates(self.store, cast(Any, self.upstream), self.clock)

    def put(self, plugin_id: str, url: str | None = None, commit: str = COMMIT) -> None:
        record = Record(url or url_of(plugin_id), commit, "k", 1, 1, 1)
        self.successResultOf(self.store.commit([record.put(plugin_id)]))

    def install(self, *ids: str) -> None:
        for plugin_id in ids:
            self.put(plugin_id)

    def slow(self, *ids: str) -> None:
        self.upstream.slow.update(map(url_of, ids))

    def end(self, *ids: str) -> None:
        for plugin_id in ids:
            self.upstream.end(url_of(plugin_id))

    def check(self, *, fresh: bool = False) -> Deferred[UpdatesResult]:
        return Deferred.fromCoroutine(self.updates.check(fresh=fresh))

    def behind(self) -> list[str]:
        """The ids of the plugins that are behind; the answer is there at once."""
        return ids_of(self.successResultOf(self.check()))

    def asked(self) -> list[str]:
        """Which remotes were asked since the last time."""
        urls, self.upstream.asked = self.upstream.asked, []
        return [url.split("/")[-1].removesuffix(".git") for url in urls]


class AnswerTests(UpdatesTestCase):
    def test_entry(self) -> None:
        """What is behind has both commits, and what is new; nothing else is listed."""
        self.install("ahead", "one", "same")
        self.upstream.answers[url_of("same")] = None
        self.upstream.answers[url_of("ahead")] = new_commits(0)
        self.upstream.answers[url_of("one")] = new_commits(2)
        answer = self.successResultOf(self.check())
        expected = Update("one", COMMIT, LATEST, 2, new_commits(2).changelog)
        self.assertEqual(answer, UpdatesResult([expected], [], []))

    def test_defect(self) -> None:
        """A defect is logged whole, and costs what is known of one plugin."""
        self.install("good", "odd")
        self.upstream.answers[url_of("odd")] = KeyError("x")
        answer = self.successResultOf(self.check())
        self.assertEqual((ids_of(answer), answer.unknown[0].id), (["good"], "odd"))
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)

    def test_late(self) -> None:
        """The answer comes within 3.5 s, with what is known by then, or was before."""
        self.install("good", "slow")
        self.slow("slow")
        trims: list[int] = []
        self.patch(module, "trim", lambda: trims.append(1))
        for known in (["good"], ["good", "slow"]):
            answer = self.check()
            self.clock.advance(LATE - 0.1)
            self.assertNoResult(answer)
            self.clock.advance(0.1)
            found = self.successResultOf(answer)
            self.assertEqual((ids_of(found), found.pending), (known, ["slow"]))
            # What the servers sent is freed once all have answered.
            trims.clear()
            self.end("slow")
            self.assertEqual(trims, [1])
            self.clock.advance(FRESH)

    def test_caller_gone(self) -> None:
        """A caller that gives up leaves the look, and nothing else."""
        self.install("slow")
        self.slow("slow")
        answer = self.check()
        answer.cancel()
        self.failureResultOf(answer)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.end("slow")
        self.assertEqual(self.behind(), ["slow"])
        self.assertEqual(self.asked(), ["slow"])


class FreshnessTests(UpdatesTestCase):
    """How long an outcome is good for."""

    def test_fresh(self) -> None:
        """No remote is asked, or called unreachable, twice in 60 s; then it is last."""
        self.install("dead", "new", "same")
        self.upstream.answers[url_of("same")] = None
        error = self.upstream.answers[url_of("dead")] = clone_failed("nobody is there")
        unknown = [Unknown("dead", "clone_failed: nobody is there")]
        with capturedLogs() as logged:
            for pause, asked in ((0, ["dead", "new", "same"]), (FRESH - 0.1, [])):
                self.clock.advance(pause)
                answer = self.successResultOf(self.check())
                self.assertEqual((ids_of(answer), answer.unknown), (["new"], unknown))
                self.assertEqual((answer.pending, self.asked()), ([], asked))
        self.assertEqual(
            [formatEvent(event) for event in logged],
            ["not known whether dead is behind: clone_failed: nobody is there"],
        )
        self.assertIsNone(error.__traceback__)
        self.clock.advance(0.1)
        self.behind()
        self.assertEqual(self.asked(), ["new", "same", "dead"])

    def test_asked_again_on_demand(self) -> None:
        """Whoever wants it fresh has all remotes asked, but none twice at a time."""
        self.install("new", "slow")
        self.slow("slow")
        self.check()
        self.asked()
        answer = self.check(fresh=True)
        self.assertEqual(self.asked(), ["new"])
        self.end("slow")
        self.assertEqual(ids_of(self.successResultOf(answer)), ["new", "slow"])
        self.upstream.slow.clear()
        for _ in range(limits.UPDATES_ASKED_PER_MINUTE * 2):
            self.successResultOf(self.check(fresh=True))
        self.assertLess(len(self.asked()), limits.UPDATES_ASKED_PER_MINUTE * 2)

    def test_outdated(self) -> None:
        """After a minute, an update, or a move it is looked at again."""
        self.install("one")
        self.assertEqual((self.behind(), self.asked()), (["one"], ["one"]))
        self.clock.advance(FRESH)
        self.assertEqual((self.behind(), self.asked()), (["one"], ["one"]))
        self.put("one", url=url_of("fork"))
        self.assertEqual((self.behind(), self.asked()), (["one"], ["fork"]))
        self.put("one", commit=LATEST)
        self.assertEqual((self.behind(), self.asked()), ([], ["one"]))

    def test_updated_while_looking(self) -> None:
        """A look at what was installed before is ended, and has no result."""
        self.install("one")
        self.slow("one")
        before = self.check()
        self.put("one", commit=LATEST)
        now = self.check()
        self.assertEqual(self.upstream.cancelled, [url_of("one")])
        found = self.successResultOf(before)
        self.assertEqual((found.updates, found.pending), ([], ["one"]))
        self.end("one")
        found = self.successResultOf(now)
        self.assertEqual((found.updates, found.pending), ([], []))

    def test_updated_before_the_answer(self) -> None:
        """An answer never names a commit that is no longer installed."""
        self.install("one", "slow")
        self.slow("slow")
        answer = self.check()
        self.put("one", commit=LATEST)
        self.clock.advance(LATE)
        found = self.successResultOf(answer)
        self.assertEqual((found.updates, found.pending), ([], ["one", "slow"]))


class PlacesTests(UpdatesTestCase):
    """How many are asked at a time, and the end."""

    def test_close(self) -> None:
        """Looks are ended, those that wait do not begin, and no others do."""
        ids = [f"p{number:02}" for number in range(18)]
        self.install(*ids)
        self.slow(*ids)
        answer = self.check()
        self.successResultOf(self.updates.close())
        self.assertEqual(sorted(self.upstream.cancelled), list(map(url_of, ids[:16])))
        again = self.check()
        self.assertEqual(self.asked(), ids[:16])
        for one in (answer, again):
            error = self.failureResultOf(one, BridgeError)
            self.assertEqual(error.value.message, shutting_down().message)
        self.assertEqual(self.clock.getDelayedCalls(), [])
