"""Tests of ``bridge.plugins.upstream.updates``."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, evolve
from twisted.internet import reactor
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency.threads import Pool
from bridge.plugins.clone.transfer import clone_failed
from bridge.plugins.installed.ids import RECORDS
from bridge.plugins.installed.records import Record
from bridge.plugins.upstream.look import GitUpstream
from bridge.plugins.upstream.updates import Update, Updates
from bridge.protocol.errors import BridgeError, shutting_down

from ...directories import fresh_directory
from ...forge import RogueServer, shared_forge
from ..clone.commits import EMPTY, line_of
from ..clone.packs import make_repository
from ..clone.remotes import LATEST, FakeUpstream, Slots, new_commits

COMMIT = "c0ffee" * 6 + "c0ff"
LATE = 3.5
TURN = 1.5
FRESH = 60


def url_of(plugin_id: str) -> str:
    """Where a plugin comes from."""
    return f"https://forge.example/{plugin_id}.git"


@define
class Installed:
    """The records of installed plugins."""

    values: dict[str, Any]

    def entries(self, ns: str) -> dict[str, Any]:
        """See ``Entries``."""
        return self.values if ns == RECORDS else {}

    def put(self, plugin_id: str, url: str | None = None, commit: str = COMMIT) -> None:
        """Install or update a plugin."""
        record = Record(url or url_of(plugin_id), commit, "k", 1, 1, 1)
        self.values[plugin_id] = record.put(plugin_id).value


class UpdatesTestCase(SynchronousTestCase):
    """Looks for updates, in time that the test makes pass."""

    def setUp(self) -> None:
        """Make one without any plugin."""
        self.installed = Installed({})
        self.upstream = FakeUpstream()
        self.clock = Clock()
        self.clock.advance(1_700_000_000)
        self.slots = Slots()
        self.updates = Updates(self.installed, self.upstream, self.clock, self.slots)

    def install(self, *ids: str) -> None:
        """Install plugins."""
        for plugin_id in ids:
            self.installed.put(plugin_id)

    def slow(self, *ids: str) -> None:
        """Let these remotes be slow."""
        self.slots.slow.update(map(url_of, ids))

    def end(self, *ids: str) -> None:
        """Let slow looks end."""
        for plugin_id in ids:
            self.slots.end(url_of(plugin_id))

    def check(self) -> Deferred[list[Update]]:
        """Ask for updates."""
        return ensureDeferred(self.updates.check())

    def behind(self) -> list[str]:
        """The ids of the plugins that are behind; the answer is there at once."""
        return [update.id for update in self.successResultOf(self.check())]

    def asked(self) -> list[str]:
        """Which remotes were asked since the last time."""
        urls, self.slots.asked = self.slots.asked, []
        return [url.split("/")[-1].removesuffix(".git") for url in urls]


class AnswerTests(UpdatesTestCase):
    """What is answered, and when."""

    def test_nothing_installed(self) -> None:
        """Without plugins there are no updates, at once."""
        self.assertEqual(self.behind(), [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_entry(self) -> None:
        """An update has the old and the new commit, and what is new."""
        self.install("one")
        self.upstream.answers[url_of("one")] = new_commits(2)
        (update,) = self.successResultOf(self.check())
        expected = Update("one", COMMIT, LATEST, 2, new_commits(2).changelog)
        self.assertEqual(update, expected)

    def test_not_behind(self) -> None:
        """What is at the tip, or was overtaken by nothing, is not listed."""
        self.install("ahead", "behind", "same")
        self.upstream.answers[url_of("same")] = None
        self.upstream.answers[url_of("ahead")] = new_commits(0)
        self.assertEqual(self.behind(), ["behind"])

    def test_unreachable(self) -> None:
        """A remote that cannot be reached is left out, and logged once a minute."""
        self.install("dead", "good")
        self.upstream.answers[url_of("dead")] = clone_failed("nobody is there")
        with capturedLogs() as logged:
            self.assertEqual(self.behind(), ["good"])
            self.assertEqual(self.behind(), ["good"])
        self.assertEqual(
            [formatEvent(event) for event in logged],
            ["not known whether dead is behind: clone_failed: nobody is there"],
        )

    def test_defect(self) -> None:
        """A defect is logged whole, and costs one plugin's entry."""
        self.install("good", "odd")
        self.upstream.answers[url_of("odd")] = KeyError("x")
        self.assertEqual(self.behind(), ["good"])
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)

    def test_late(self) -> None:
        """The answer comes after 3.5 s, with what is known by then."""
        self.install("good", "slow")
        self.slow("slow")
        answer = self.check()
        self.clock.advance(LATE - 0.1)
        self.assertNoResult(answer)
        self.clock.advance(0.1)
        self.assertEqual([u.id for u in self.successResultOf(answer)], ["good"])

    def test_in_the_next_answer(self) -> None:
        """A slow remote goes on, and is in the next answer without being asked."""
        self.install("good", "slow")
        self.slow("slow")
        answer = self.check()
        self.clock.advance(LATE)
        self.successResultOf(answer)
        self.clock.advance(5)
        self.end("slow")
        self.asked()
        self.assertEqual(self.behind(), ["good", "slow"])
        self.assertEqual(self.asked(), [])

    def test_known_while_asked_again(self) -> None:
        """What was known stays in the answer while a slow remote is asked again."""
        self.install("slow")
        self.assertEqual(self.behind(), ["slow"])
        self.clock.advance(FRESH)
        self.slow("slow")
        answer = self.check()
        self.clock.advance(LATE)
        self.assertEqual([u.id for u in self.successResultOf(answer)], ["slow"])

    def test_one_look_for_all(self) -> None:
        """Callers that ask at the same time share the looks."""
        self.install("slow")
        self.slow("slow")
        first = self.check()
        self.clock.advance(2)
        second = self.check()
        self.end("slow")
        for answer in (first, second):
            self.assertEqual([u.id for u in self.successResultOf(answer)], ["slow"])
        self.assertEqual(self.asked(), ["slow"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_caller_gone(self) -> None:
        """A caller that gives up leaves the look, and nothing else."""
        self.install("slow")
        self.slow("slow")
        answer = self.check()
        answer.cancel()
        self.failureResultOf(answer)
        self.clock.advance(TURN)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.end("slow")
        self.assertEqual(self.behind(), ["slow"])
        self.assertEqual(self.asked(), ["slow"])


class FreshnessTests(UpdatesTestCase):
    """How long an outcome is good for."""

    def test_fresh(self) -> None:
        """No remote is asked twice within 60 s, whatever it answered."""
        self.install("dead", "new", "same")
        self.upstream.answers[url_of("same")] = None
        self.upstream.answers[url_of("dead")] = clone_failed("nobody is there")
        self.behind()
        self.assertEqual(self.asked(), ["dead", "new", "same"])
        self.clock.advance(FRESH - 0.1)
        self.assertEqual(self.behind(), ["new"])
        self.assertEqual(self.asked(), [])
        self.clock.advance(0.1)
        self.behind()
        self.assertEqual(sorted(self.asked()), ["dead", "new", "same"])

    def test_clock_set_back(self) -> None:
        """A clock that was set back does not keep an outcome fresh."""
        self.install("one")
        self.behind()
        self.clock.rightNow -= 3600
        self.behind()
        self.assertEqual(self.asked(), ["one", "one"])

    def test_updated(self) -> None:
        """After an update, what was found before counts no more."""
        self.install("one")
        self.behind()
        self.installed.put("one", commit=LATEST)
        self.upstream.answers[url_of("one")] = None
        self.assertEqual(self.behind(), [])
        self.assertEqual(self.asked(), ["one", "one"])

    def test_other_origin(self) -> None:
        """A plugin installed from elsewhere is looked for there."""
        self.install("one")
        self.behind()
        self.installed.put("one", url=url_of("fork"))
        self.assertEqual(self.behind(), ["one"])
        self.assertEqual(self.asked(), ["one", "fork"])

    def test_uninstalled(self) -> None:
        """What is uninstalled is not listed, nor remembered."""
        self.install("one", "two")
        self.behind()
        del self.installed.values["one"]
        self.assertEqual(self.behind(), ["two"])
        self.install("one")
        self.assertEqual(self.behind(), ["one", "two"])
        self.assertEqual(self.asked(), ["one", "two", "one"])

    def test_updated_while_looking(self) -> None:
        """A look at what was installed before is stopped, and has no result."""
        self.install("one")
        self.slow("one")
        before = self.check()
        self.installed.put("one", commit=LATEST)
        stale = self.slots.busy.pop(url_of("one"))
        now = self.check()
        self.assertTrue(stale[0].is_set())
        self.slots.busy, fresh = {url_of("one"): stale}, self.slots.busy
        self.upstream.answers[url_of("one")] = clone_failed("stopped")
        self.end("one")
        self.slots.busy = fresh
        self.assertEqual(self.successResultOf(before), [])
        self.upstream.answers[url_of("one")] = None
        self.end("one")
        self.assertEqual(self.successResultOf(now), [])

    def test_updated_before_the_answer(self) -> None:
        """An answer never names a commit that is no longer installed."""
        self.install("one", "slow")
        self.slow("slow")
        answer = self.check()
        self.installed.put("one", commit=LATEST)
        self.clock.advance(LATE)
        self.assertEqual(self.successResultOf(answer), [])


class TurnTests(UpdatesTestCase):
    """Who is asked when."""

    def test_four_at_a_time(self) -> None:
        """There are never more than four looks at a time."""
        ids = [f"p{number}" for number in range(9)]
        self.install(*ids)
        self.slow(*ids)
        answer = self.check()
        self.assertEqual(self.asked(), ids[:4])
        self.end("p2")
        self.assertEqual(self.asked(), ["p4"])
        for plugin_id in ("p0", "p1", "p3", "p4", "p5", "p6", "p7", "p8"):
            self.end(plugin_id)
        self.assertEqual([u.id for u in self.successResultOf(answer)], ids)

    def test_dead_remotes_step_back(self) -> None:
        """Dead remotes give their turn to others, and have another after them."""
        dead = ["aa", "bb", "cc", "dd"]
        self.install(*dead, "xx", "yy")
        self.slow(*dead)
        self.upstream.answers.update({url_of(of): clone_failed("cut") for of in dead})
        answer = self.check()
        self.clock.advance(TURN)
        self.assertEqual(self.slots.stopped(), [url_of(of) for of in dead])
        self.end(*dead)
        self.assertEqual(self.asked(), ["aa", "bb", "cc", "dd", "xx", "yy", *dead])
        self.assertEqual(self.slots.stopped(), [])
        self.clock.advance(LATE - TURN)
        self.assertEqual([u.id for u in self.successResultOf(answer)], ["xx", "yy"])
        self.clock.advance(5)
        self.assertEqual(self.slots.stopped(), [])

    def test_second_turn(self) -> None:
        """An answer that comes in the second turn counts, or just after the first."""
        self.install("aa", "bb", "cc", "dd", "xx")
        self.slow("aa", "bb", "cc", "dd")
        self.check()
        self.clock.advance(TURN)
        self.upstream.done = {url_of(of) for of in ("bb", "cc", "dd")}
        self.end("aa", "bb")
        self.end("aa", "cc", "dd")
        self.assertEqual(self.behind(), ["aa", "bb", "cc", "dd", "xx"])

    def test_nobody_waits(self) -> None:
        """A slow remote is not disturbed when nobody waits for its turn."""
        self.install("aa", "bb", "cc", "dd")
        self.slow("aa", "bb", "cc", "dd")
        self.check()
        self.clock.advance(TURN)
        self.assertEqual(self.slots.stopped(), [])

    def test_failed_last(self) -> None:
        """What has failed is looked at after all the others the next time."""
        self.install("aa", "bb", "cc")
        self.upstream.answers[url_of("aa")] = clone_failed("nobody is there")
        self.behind()
        self.clock.advance(FRESH)
        self.asked()
        self.behind()
        self.assertEqual(self.asked(), ["bb", "cc", "aa"])


class EndTests(UpdatesTestCase):
    """The end of the daemon."""

    def test_idle(self) -> None:
        """Without a look, there is nothing to wait for."""
        self.assertIsNone(self.successResultOf(self.updates.close()))
        error = self.failureResultOf(self.check(), BridgeError)
        self.assertEqual(error.value.message, shutting_down().message)

    def test_looks_are_stopped(self) -> None:
        """Looks are stopped and waited for; those that wait do not begin."""
        ids = ["aa", "bb", "cc", "dd", "ee"]
        self.install(*ids)
        self.slow(*ids)
        answer = self.check()
        closed = self.updates.close()
        self.assertEqual(len(self.slots.stopped()), 4)
        self.assertNoResult(closed)
        self.end("aa", "bb", "cc")
        self.assertNoResult(closed)
        self.end("dd")
        self.successResultOf(closed)
        self.assertEqual(self.asked(), ["aa", "bb", "cc", "dd"])
        self.failureResultOf(answer, BridgeError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_dead_remotes_at_the_end(self) -> None:
        """A look that is stopped at the end has no second turn."""
        ids = ["aa", "bb", "cc", "dd", "ee"]
        self.install(*ids)
        self.slow(*ids)
        self.upstream.answers.update({url_of(of): clone_failed("cut") for of in ids})
        self.check().addErrback(lambda _: None)
        self.clock.advance(TURN)
        closed = self.updates.close()
        self.end("aa", "bb", "cc", "dd")
        self.successResultOf(closed)
        self.assertEqual(self.asked(), ["aa", "bb", "cc", "dd"])


class RealTests(TestCase):
    """Real servers, real threads; only the time of an answer is made to pass."""

    timeout = 120

    def setUp(self) -> None:
        """Make a forge's and a silent server's plugins available."""
        self.base = fresh_directory(self)
        self.forge = shared_forge()
        self.installed = Installed({})
        self.clock = Clock()
        self.clock.advance(1_700_000_000)
        self.pool = Pool(reactor, "updates", 4)  # type: ignore[arg-type]
        self.pool.start()
        self.addCleanup(self.pool.stop)
        self.under_way = 0
        self.most = 0
        self.done: list[str] = []
        self.waiting: list[tuple[int, Deferred[None]]] = []

    def in_thread(self, call: Any, url: str, *arguments: Any) -> Deferred[Any]:
        """Call in a thread, and count what was called and has ended."""
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        return self.pool.call(call, url, *arguments).addBoth(self.ended, url)

    def ended(self, result: Any, url: str) -> Any:
        """Fire when this many calls have ended."""
        self.under_way -= 1
        self.done.append(url)
        for count, waiting in self.waiting:
            if count == len(self.done):
                reactor.callLater(0, waiting.callback, None)
        return result

    def after(self, count: int) -> Deferred[None]:
        """Wait until this many calls have ended."""
        waiting: Deferred[None] = Deferred()
        self.waiting.append((count, waiting))
        return waiting

    def silent(self) -> RogueServer:
        """A server that dribbles for ever."""

        def script(line: str, body: bytes) -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\n"
            while True:
                yield b"X"
                server.pause(0.2)

        server = RogueServer(script, self.base / "silent.pem")
        self.addCleanup(server.stop)
        return server

    def updates(self, *ca_files: Path, seconds: float = 100) -> Updates:
        """Look for updates over the network."""
        trusted = self.base / "trusted.pem"
        trusted.write_bytes(b"".join(path.read_bytes() for path in ca_files))
        limits = evolve(GitUpstream.default_limits(), seconds=seconds)
        upstream = GitUpstream(trusted, False, time.monotonic, limits)
        return Updates(self.installed, upstream, self.clock, self.in_thread)

    async def test_twenty_plugins(self) -> None:
        """Of 20 plugins with 5 dead remotes, 15 are in the first answer."""
        server = self.silent()
        line = line_of(3)
        name = f"updates-{os.urandom(6).hex()}"
        make_repository(self.forge.root, name, [EMPTY, *line])
        alive = [f"p{number:02}" for number in range(5, 20)]
        for number in range(5):
            self.installed.put(f"p{number:02}", server.url, line[0].name.hex())
        for plugin_id in alive:
            self.installed.put(plugin_id, self.forge.url(name), line[0].name.hex())
        updates = self.updates(self.forge.ca_file, server.ca_file)
        answer = ensureDeferred(updates.check())
        all_had_a_turn = self.after(20 - 1)
        self.clock.advance(TURN)
        await all_had_a_turn
        self.assertNoResult(answer)
        self.clock.advance(LATE - TURN)
        found = self.successResultOf(answer)
        self.assertEqual([update.id for update in found], alive)
        self.assertEqual({update.commits_behind for update in found}, {2})
        self.assertEqual(self.most, 4)
        await updates.close()
        self.assertEqual(threads_of_looks(), [])

    async def test_deadline(self) -> None:
        """A dead remote is given up in the background, and is left out."""
        server = self.silent()
        self.installed.put("dead", server.url)
        updates = self.updates(server.ca_file, seconds=0.5)
        with capturedLogs() as logged:
            answer = ensureDeferred(updates.check())
            self.assertEqual(await answer, [])
        (event,) = (e for e in logged if e.get("id") == "dead")
        self.assertIn("not finished within 0.5 seconds", formatEvent(event))
        self.assertEqual(threads_of_looks(), [])

    async def test_close(self) -> None:
        """At the end, running looks are stopped and waited for."""
        server = self.silent()
        for number in range(6):
            self.installed.put(f"p{number}", server.url)
        updates = self.updates(server.ca_file)
        answer = ensureDeferred(updates.check())
        await updates.close()
        self.failureResultOf(answer, BridgeError)
        self.assertEqual(len(self.done), 4)
        self.assertEqual(threads_of_looks(), [])


def threads_of_looks() -> list[str]:
    """What threads of fetches there are."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith("clone-")]
