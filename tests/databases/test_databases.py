import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency.threads import Pool
from bridge.databases import databases
from bridge.databases.databases import Databases
from bridge.databases.reader import Query
from bridge.databases.results import Rows
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code
from tests.directories import fresh_directory

from ..pages import Page, SlowPage
from ..reactors import reactor
from . import samples
from .samples import make_database

NAMES = Query("SELECT name FROM places", [])
ENDLESS = Query(samples.ENDLESS + "SELECT count(*) FROM r", [])


class ThreadTests(TestCase):
    def setUp(self) -> None:
        path = make_database(fresh_directory(self) / "places.db")
        self.pool = Pool(reactor, "sql", 4)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        self.databases = Databases(
            {"places": path}, reactor, self.pool.call, time.monotonic
        )
        self.addCleanup(self.databases.close)

    def read(self, query: Query, caller: Page | None = None) -> Deferred[Rows]:
        return Deferred.fromCoroutine(
            self.databases.read("places", query, caller or Page())
        )

    async def test_attack_statements_of_a_page_that_has_gone(self) -> None:
        """They are interrupted or dropped; the next page is answered at once."""
        page, begun = Page(), time.monotonic()
        asked = [self.read(ENDLESS, page) for _ in range(18)]
        await self.read(NAMES)
        page.go()
        for calling in asked:
            error: Any = await self.assertFailure(calling, BridgeError)
            self.assertEqual(error.message, "who asked for this has gone")
        for _ in range(8):
            await self.read(NAMES)
        self.assertLess(time.monotonic() - begun, 4)


class TurnTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = make_database(fresh_directory(self) / "places.db")
        self.clock = Clock()
        self.in_thread: Any = execute
        self.databases = Databases(
            {
                "places": self.path,
                "more": make_database(self.path.with_name("more.db")),
                "later": Path("/nowhere/later.db"),
            },
            self.clock,
            self.call,
            self.clock.seconds,
        )
        self.addCleanup(self.databases.close)

    def call(self, *work: Any) -> Deferred[Any]:
        """Do work, in whatever way the test wants."""
        return self.in_thread(*work)

    def read(self, alias: str = "places", caller: Page | None = None) -> Deferred[Rows]:
        return Deferred.fromCoroutine(
            self.databases.read(alias, NAMES, caller or Page())
        )

    def test_connection_is_kept(self) -> None:
        """It is found open; unused for a while, it is closed, and the heap trimmed."""
        trims: list[int] = []
        self.patch(databases, "trim", lambda: trims.append(1))
        self.successResultOf(self.read())
        (reader,) = self.databases._idle
        opened = reader._opened
        self.clock.advance(2)
        self.successResultOf(self.read("more"))
        self.successResultOf(self.read())
        same, other = self.databases._idle
        self.assertIs(same, reader)
        self.assertIs(reader._opened, opened)
        self.clock.advance(2)
        self.successResultOf(self.read("more"))
        self.assertIsNotNone(reader._opened)
        self.clock.advance(2)
        self.assertIsNone(reader._opened)
        self.assertEqual(trims, [1])
        self.assertEqual(list(self.databases._idle), [other])
        self.successResultOf(self.read())
        self.assertNotIn(reader, list(self.databases._idle))

    def test_attack_flood(self) -> None:
        """Four run, two of a page; 64 wait, 16 of a page; each gets its turn."""
        running: list[Deferred[Rows]] = []

        def hang(*_: Any) -> Deferred[Rows]:
            running.append(Deferred())
            return running[-1]

        self.in_thread = hang
        page = Page()
        asked = [self.read(caller=page) for _ in range(2 + 16)]
        self.assertEqual(len(running), 2)
        self.failureResultOf(self.read(caller=page), BridgeError)
        asked += [self.read() for _ in range(2 + 48)]
        self.assertEqual(len(running), 4)
        error = self.failureResultOf(self.read(), BridgeError)
        self.assertEqual(error.value.code, Code.UNAVAILABLE)
        for number in range(68):
            running[number].callback(Rows([], []))
        for calling in asked:
            self.successResultOf(calling)
        # Nobody waits for the third any more.
        *asked, late = [self.read(caller=page) for _ in range(3)]
        self.clock.advance(limits.SQL_ANSWER_SECONDS + 1)
        for number in (68, 69):
            running[number].callback(Rows([], []))
        self.failureResultOf(late, BridgeError)
        self.assertEqual(len(running), 70)

    def test_page_that_reads_slowly(self) -> None:
        """What it asked for waits its turn until it has read the answer before."""
        page = SlowPage()
        asked = [self.read(caller=page) for _ in range(3)]
        for number in range(3):
            self.assertEqual(len(page.waiting), min(2 + number, 3))
            self.assertNoResult(asked[number])
            page.waiting[number].callback(None)
            self.successResultOf(asked[number])

    def test_attack_interrupted(self) -> None:
        """What is late, or whose page has gone, ends, and its connection is closed."""
        page = Page()
        for end in (lambda: self.clock.advance(5), page.go):
            self.in_thread = execute
            self.successResultOf(self.read())
            (reader,) = self.databases._idle
            slow: Deferred[Rows] = Deferred()
            self.in_thread = lambda *_, slow=slow: slow
            calling = self.read(caller=page)
            self.assertEqual(list(self.databases._idle), [])
            end()
            self.assertTrue(reader._stopped)
            slow.callback(Rows([], []))
            self.assertIsNone(reader._opened)
            self.assertEqual(list(self.databases._idle), [])
            calling.addErrback(lambda _: None)

    def test_close(self) -> None:
        """It waits for what runs in threads, which can only be interrupted."""
        slow: Deferred[Rows] = Deferred()
        self.in_thread = lambda *_: slow
        self.read().addErrback(lambda _: None)
        closing = self.databases.close()
        self.assertNoResult(closing)
        slow.callback(Rows([], []))
        self.successResultOf(closing)
