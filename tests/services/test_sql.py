"""Tests for bridge.services.sql: statements, their turns, and their threads."""

import json
import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency.threads import Pool
from bridge.databases.reader import Rows
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.strictjson import dumps
from bridge.services import sql as module
from bridge.services.sql import Sql, Statement
from tests.databases.samples import make_database
from tests.directories import fresh_directory

from ..databases import samples
from ..pages import Page, SlowPage
from ..reactors import reactor
from .case import ServiceCase

ABOUT = {"places": "Where one was.", "later": "Not there yet."}


class SqlTests(ServiceCase):
    service = "sql"

    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        make_database(self.directory / "places.db")
        clock = Clock()
        paths = {alias: self.directory / f"{alias}.db" for alias in ABOUT}
        sql = Sql(paths, ABOUT, clock, execute, time.monotonic)
        self.addCleanup(sql.close)
        self.register(sql)

    def query(self, sql: str, *params: Any, **more: Any) -> Any:
        """Run a statement, and give its answer as JSON gives it."""
        asked = {"database": "places", "sql": sql, "params": list(params), **more}
        return json.loads(dumps(self.successResultOf(self.calling("query", asked))))

    def refused(self, name: str = "query", **params: Any) -> BridgeError:
        """Call one method, and give its refusal."""
        asked = {"database": "places", "sql": "SELECT 1", **params}
        return super().refused(name, **asked)

    def test_params(self) -> None:
        """Booleans are 0 and 1, huge integers floats, the rest is as it was."""
        for given, found in (
            (True, 1),
            (False, 0),
            (None, None),
            ("é", "é"),
            (1.5, 1.5),
            (2**63 - 1, str(2**63 - 1)),
            (-(2**63), str(-(2**63))),
            (2**63, 2.0**63),
            (-(10**400), None),
            (-(2**63) - 1, -(2.0**63)),
        ):
            self.assertEqual(self.query("SELECT ? AS c", given)["rows"], [{"c": found}])

    def test_shapes(self) -> None:
        """What is no statement, or can't be bound, is refused."""
        rule = "sql: a statement of at most 65536 bytes, without NUL"
        longest = "SELECT 1 WHERE 0".ljust(65536)
        self.assertEqual(self.query(longest)["rows"], [])
        for sql in ("SELECT 1\0", f"{longest} ", "SELECT '" + "é" * 40_000 + "'"):
            self.assertEqual(self.refused(sql=sql).message, rule)
        wrong: tuple[Any, ...] = ([[]], [{}], [1, {"a": 1}])
        for bad in wrong:
            message = self.refused(params=bad).message
            self.assertEqual(
                message, "params: each null, a boolean, a number or a string"
            )
        message = self.refused(params=[1] * 65).message
        self.assertEqual(message, "params: at most 64 entries")
        self.assertEqual(self.refused(params={}).message, "params: must be a list")

    def test_attack_paths(self) -> None:
        """A database is named by its alias; a path is no alias."""
        for name in (
            str(self.directory / "places.db"),
            "places.db",
            "../places",
            "file:places",
            ":memory:",
            "",
            "PLACES",
            "main",
        ):
            for method in ("query", "execute"):
                self.assertEqual(
                    self.refused(method, database=name).message,
                    "database: unknown database; there are: places, later",
                )

    def test_writing(self) -> None:
        """It is refused by both methods."""
        sql = "DELETE FROM places"
        self.assertIn("readonly", self.refused(sql=sql).message)
        self.assertIn("read-only", self.refused("execute", sql=sql).message)
        self.assertEqual(len(self.query("SELECT * FROM places")["rows"]), 2)

    def test_describe(self) -> None:
        """It names the databases and the limits; ``databases`` answers the same."""
        described = self.registry.describe()["sql"]
        self.assertEqual(described["methods"], ["query", "execute", "databases"])
        listed = self.successResultOf(self.calling("databases", {}))
        own = {"summary": described["summary"], "methods": described["methods"]}
        self.assertEqual(described, {**own, **listed})
        entries = [{"alias": n, "writable": False, "about": ABOUT[n]} for n in ABOUT]
        self.assertEqual(listed["databases"], entries)
        numbers = ("maxRows", "maxResultBytes", "maxParams", "maxStatementMs")
        self.assertEqual([listed[n] for n in numbers], [10_000, 8 * 2**20, 64, 5000])
        for sentence in ("paths", "statements", "reads", "blobs"):
            self.assertTrue(listed[sentence].endswith("."))
        self.assertNotIn(str(self.directory), json.dumps(described))


NAMES = "SELECT name FROM places"
ENDLESS = samples.ENDLESS + "SELECT count(*) FROM r"


def asking(sql: Sql, alias: str, text: str, caller: Page | None) -> Deferred[Rows]:
    """Ask the service for a statement of a page."""
    calling: Any = sql.query(Statement(alias, text), caller or Page())
    return Deferred.fromCoroutine(calling)


class ThreadTests(TestCase):
    def setUp(self) -> None:
        path = samples.make_database(fresh_directory(self) / "places.db")
        self.pool = Pool(reactor, "sql", 4)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        paths = {"places": path}
        self.sql = Sql(
            paths, dict.fromkeys(paths, ""), reactor, self.pool.call, time.monotonic
        )
        self.addCleanup(self.sql.close)

    def read(self, sql: str, caller: Page | None = None) -> Deferred[Rows]:
        return asking(self.sql, "places", sql, caller)

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
        self.path = samples.make_database(fresh_directory(self) / "places.db")
        self.clock = Clock()
        self.in_thread: Any = execute
        paths = {
            "places": self.path,
            "more": samples.make_database(self.path.with_name("more.db")),
            "later": Path("/nowhere/later.db"),
        }
        self.sql = Sql(
            paths, dict.fromkeys(paths, ""), self.clock, self.call, self.clock.seconds
        )
        self.addCleanup(self.sql.close)

    def call(self, *work: Any) -> Deferred[Any]:
        """Do work, in whatever way the test wants."""
        return self.in_thread(*work)

    def read(self, alias: str = "places", caller: Page | None = None) -> Deferred[Rows]:
        return asking(self.sql, alias, NAMES, caller)

    def test_connection_is_kept(self) -> None:
        """It is found open; unused for a while, it is closed, and the heap trimmed."""
        trims: list[int] = []
        self.patch(module, "trim", lambda: trims.append(1))
        self.successResultOf(self.read())
        (reader,) = self.sql._idle
        opened = reader._opened
        self.clock.advance(2)
        self.successResultOf(self.read("more"))
        self.successResultOf(self.read())
        same, other = self.sql._idle
        self.assertIs(same, reader)
        self.assertIs(reader._opened, opened)
        self.clock.advance(2)
        self.successResultOf(self.read("more"))
        self.assertIsNotNone(reader._opened)
        self.clock.advance(2)
        self.assertIsNone(reader._opened)
        self.assertEqual(trims, [1])
        self.assertEqual(list(self.sql._idle), [other])
        self.successResultOf(self.read())
        self.assertNotIn(reader, list(self.sql._idle))

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
            (reader,) = self.sql._idle
            slow: Deferred[Rows] = Deferred()
            self.in_thread = lambda *_, slow=slow: slow
            calling = self.read(caller=page)
            self.assertEqual(list(self.sql._idle), [])
            end()
            self.assertTrue(reader._stopped)
            slow.callback(Rows([], []))
            self.assertIsNone(reader._opened)
            self.assertEqual(list(self.sql._idle), [])
            calling.addErrback(lambda _: None)

    def test_close(self) -> None:
        """It waits for what runs in threads, which can only be interrupted."""
        slow: Deferred[Rows] = Deferred()
        self.in_thread = lambda *_: slow
        self.read().addErrback(lambda _: None)
        closing = self.sql.close()
        self.assertNoResult(closing)
        slow.callback(Rows([], []))
        self.successResultOf(closing)
