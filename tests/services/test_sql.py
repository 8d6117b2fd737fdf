import json
import time
from typing import Any

from twisted.internet.defer import execute
from twisted.internet.task import Clock

from bridge.databases.databases import Databases
from bridge.protocol.errors import BridgeError
from bridge.protocol.strictjson import dumps
from bridge.services.sql import Sql
from tests.databases.samples import make_database
from tests.directories import fresh_directory

from .case import ServiceCase

ABOUT = {"places": "Where one was.", "later": "Not there yet."}


class SqlTests(ServiceCase):
    service = "sql"

    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        make_database(self.directory / "places.db")
        clock = Clock()
        paths = {alias: self.directory / f"{alias}.db" for alias in ABOUT}
        databases = Databases(paths, clock, execute, time.monotonic)
        sql = Sql(databases, ABOUT, clock)
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
        self.assertEqual(self.refused(params={}).message, "params: wrong type")

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
