"""Tests for bridge.databases.reader, and the attacks on it."""

import contextlib
import os
import sqlite3
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.reader import Meter, Query, Reader
from bridge.databases.statements import StatementAuthorizer
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import SQL_SECONDS, SQL_SLOWEST_VALUE_BYTES
from bridge.protocol.strictjson import dumps
from tests.directories import fresh_directory

from .samples import ENDLESS, make_database, written

REFUSED = "sqlite refused the statement: "
READONLY = REFUSED + (
    "only SELECT is allowed, the database is readonly; "
    "virtual tables, such as those of full-text search, cannot be read"
)
FUNCTION = REFUSED + "it calls a function that is not allowed"
MEMORY = REFUSED + "it takes too much memory, or has too many steps"
TOO_LONG = REFUSED + "a value is too long, for reading or for its functions"
LATE = REFUSED + "it took longer than 5000 ms"


class Racing:
    """A clock by which only so many looks are left until the deadline."""

    def __init__(self, looks: int = 1_000_000) -> None:
        self.looks = looks

    def __call__(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else SQL_SECONDS + 1


class ReaderCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        self.path = make_database(self.directory / "places.db")
        self.clock = Racing()
        self.reader = self.reading(self.path)

    def reading(self, path: Path) -> Reader:
        reader = Reader(path, self.clock)
        self.addCleanup(reader.close)
        return reader

    def rows(self, sql: str, *params: Any, blobs: bool = False) -> list[dict[str, Any]]:
        return written(self.reader.read(Query(sql, list(params), blobs)))

    def names(self) -> list[str]:
        return [r["name"] for r in self.rows("SELECT name FROM places ORDER BY id")]

    def refused(self, sql: str, *params: Any) -> str:
        """Run a statement that is refused; gives the message, and goes on after."""
        error = self.assertRaises(BridgeError, self.rows, sql, *params)
        self.assertEqual(error.code, Code.BAD_REQUEST, error.message)
        # It does not count for this mistake.
        mistake = self.assertRaises(BridgeError, self.rows, "SELEC")
        self.assertEqual(mistake.message, REFUSED + "a syntax error")
        self.assertEqual(self.names(), ["Harbour", "Market"])
        return error.message

    def failed(self) -> BridgeError:
        """Read from a database that can't be read."""
        error: BridgeError = self.assertRaises(BridgeError, self.names)
        self.assertNotIn("places", error.message)
        self.assertIsNone(self.reader._opened)
        return error


class ReadTests(ReaderCase):
    def test_values(self) -> None:
        """Every kind of value has a place in JSON."""
        for sql, value in (
            ("NULL", None),
            ("9007199254740991", 9007199254740991),
            ("9007199254740992", "9007199254740992"),
            ("-9007199254740991", -9007199254740991),
            ("-9007199254740992", "-9007199254740992"),
            ("1.5", 1.5),
            ("9e999", None),
            ("'é'", "é"),
            ("CAST(x'61ff62' AS TEXT)", "a\ufffdb"),
            ("x'00ff'", {"blobBytes": 2}),
        ):
            self.assertEqual(self.rows(f"SELECT {sql}"), [{sql: value}])

    def test_params(self) -> None:
        """There must be as many as placeholders, which may be numbered."""
        self.assertEqual(
            self.rows("SELECT ?1 AS a, ?2 AS b, ?1 AS c", 1, "\0é"),
            [{"a": 1, "b": "\0é", "c": 1}],
        )
        for given_ in ([], [1, 2]):
            self.assertEqual(
                self.refused("SELECT ?", *given_),
                "params: must be one for each placeholder of the statement",
            )

    def test_duplicate_columns(self) -> None:
        """``columns`` has both, the row the last."""
        found = self.reader.read(Query("SELECT 1 AS a, 2 AS b, 3 AS a", []))
        self.assertEqual(found.columns, ["a", "b", "a"])
        self.assertEqual(written(found), [{"a": 3, "b": 2}])

    def test_blobs(self) -> None:
        """Their size is reported, and their content when it is requested."""
        sql = "SELECT picture FROM places WHERE id = 1"
        for blobs, more in ((False, {}), (True, {"base64": "AP8A/w=="})):
            found = self.rows(sql, blobs=blobs)
            self.assertEqual(found, [{"picture": {"blobBytes": 4, **more}}])

    def test_what_authors_use(self) -> None:
        """Ordinary reading is allowed: joins, windows, JSON, dates, the schema."""
        for sql in (
            "SELECT name FROM sqlite_master WHERE type = 'table'",
            "SELECT upper(substr(name, 1, 3)) FROM places WHERE name LIKE 'H%'",
            "SELECT a.name FROM places a LEFT JOIN numbers n ON n.n = a.id",
            "SELECT row_number() OVER (ORDER BY name) FROM places",
            "SELECT json_extract('{\"a\":[1]}', '$.a[0]'), '{\"b\":1}' ->> 'b'",
            "SELECT a.value, b.fullkey FROM json_each('[1]') a, json_tree('[2]') b",
            "SELECT datetime(0, 'unixepoch'), current_timestamp, CAST('1' AS INTEGER)",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 5) "
            "SELECT group_concat(n) FROM r",
            "VALUES (1), (2)",
            "SELECT name FROM places UNION SELECT n FROM numbers ORDER BY 1 LIMIT 3",
            "EXPLAIN QUERY PLAN SELECT * FROM places",
            "SELECT replace(trim(name), 'a', 'b'), instr(name, 'a') FROM places;",
        ):
            self.assertTrue(self.rows(sql), sql)

    def test_mistakes(self) -> None:
        """The kind of mistake is reported, in our words."""
        for sql, kind in (
            ("SELEC secret", "a syntax error"),
            ("SELECT 'secret", "a syntax error"),
            ("SELECT secret FROM places", "no such column"),
            ("SELECT * FROM secret", "no such table"),
            ("SELECT secret(1)", "no such function"),
            ("SELECT abs(1, 2)", "a function has the wrong number of arguments"),
            ("SELECT id FROM places a, places b", "a column name is ambiguous"),
            ("SELECT 1 WHERE", "it is incomplete"),
            ("SELECT json('secret')", "a value is not JSON"),
            (
                "SELECT 1 LIKE hex(hex(?1 || ?1))",
                "a pattern of LIKE or GLOB is too long",
            ),
            ("SELECT sum(9223372036854775807) FROM places", "a number is too large"),
            ("SELECT ?65", "a placeholder's number is too high"),
            ("SELECT (SELECT 1, 2)", "it cannot be prepared or run"),
            ("REINDEX", "it returns no rows"),
            ("SELECT 1; SELECT 2", "one statement per call"),
            ("SELECT 1;\n-- x\n;DROP TABLE places", "one statement per call"),
            ("", "it is incomplete"),
            (" -- nothing\n/* at all */", "it is incomplete"),
        ):
            params = ["x" * 40] if "?1" in sql else []
            self.assertEqual(self.refused(sql, *params), REFUSED + kind, sql)

    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=60))
    @settings(max_examples=200)
    def test_any_text(self, text: str) -> None:
        """Any text is read or refused, and never quoted."""
        self.clock.looks = 1_000_000
        text += "\u2603"  # which no message of ours has
        for sql in (text, f"SELECT {text}", f"SELECT '{text}' FROM places {text}"):
            try:
                self.reader.read(Query(sql, []))
            except BridgeError as e:
                self.assertNotIn(text, e.message)


class LimitTests(ReaderCase):
    def test_attack_endless_rows(self) -> None:
        """Ten thousand become one block; one more is an error, as is no end."""
        sql = ENDLESS + "SELECT n FROM r"
        self.names()
        before = sys.getallocatedblocks()
        found = self.reader.read(Query(sql + " LIMIT 10000", []))
        self.assertLess(sys.getallocatedblocks() - before, 100)
        self.assertEqual(len(written(found)), 10000)
        for more in (" LIMIT 10001", ""):
            message = self.refused(sql + more)
            self.assertEqual(message, "the result is too large: over 10000 rows")

    def test_eight_mebibytes(self) -> None:
        """The estimate counts names, and texts with their quotes."""
        text = "x" * (2**20 - 10)
        sql = "SELECT ?1 AS a FROM numbers LIMIT "
        self.assertEqual(len(self.rows(sql + "8", text)), 8)
        message = self.refused(sql + "9", text)
        self.assertEqual(message, "the result is too large: over 8388608 bytes")

    def test_attack_escapes(self) -> None:
        """What JSON escapes may double a result, not multiply it by six."""
        sql = "SELECT ?1 AS a FROM numbers LIMIT 8"
        lines, controls = (Query(sql, [c * (2**20 - 10)]) for c in ("\n", "\1"))
        self.assertGreater(len(dumps(self.reader.read(lines).rows)), 2**24 - 100)
        message = self.assertRaises(BridgeError, self.reader.read, controls).message
        self.assertEqual(
            message, "the result is too large: over 16777216 bytes as JSON"
        )

    def test_long_values(self) -> None:
        """They are read, up to a mebibyte, but not searched."""
        text = "x" * 2**19
        self.assertEqual(self.rows("SELECT length(?1) AS n", text), [{"n": 2**19}])
        self.assertEqual(self.refused("SELECT instr(?1, 'y')", text), TOO_LONG)
        self.assertEqual(self.rows("SELECT length(?1) AS n", text), [{"n": 2**19}])
        self.assertEqual(self.refused("SELECT ?1", "x" * (2**20 + 1)), TOO_LONG)

    def test_attack_memory(self) -> None:
        """The largest results take a bounded amount of memory while they are read."""
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        wide = ",".join(["?1"] * 128)
        self.refused(f"SELECT {wide} FROM numbers", "x" * 100_000)
        self.refused("SELECT " + ",".join(["CAST(?1 AS BLOB)"] * 129), "x" * 100_000)
        self.refused("SELECT * FROM numbers, numbers AS more")
        with contextlib.suppress(BridgeError):
            self.rows("SELECT NULL,NULL,NULL,NULL FROM numbers LIMIT 10000")
        self.assertLess(tracemalloc.get_traced_memory()[1], 64 * 2**20)


class FileTests(ReaderCase):
    """Tests for files that change, or are not what they should be."""

    def owner(self) -> sqlite3.Connection:
        owner = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(owner.close)
        return owner

    def test_the_owner_s_changes_are_seen(self) -> None:
        """Each statement reads what is there then; the schema too."""
        self.assertEqual(self.names(), ["Harbour", "Market"])
        owner = self.owner()
        owner.execute("INSERT INTO places VALUES (3, 'Quay', NULL)")
        self.assertEqual(self.names()[2:], ["Quay"])
        owner.execute("CREATE TABLE later AS SELECT 1 AS a")
        self.assertEqual(self.rows("SELECT * FROM later"), [{"a": 1}])

    def test_copied_over(self) -> None:
        """A database that is copied over the one before is read, however alike."""
        self.assertEqual(self.names(), ["Harbour", "Market"])
        other = self.path.read_bytes().replace(b"Harbour", b"Station")
        self.path.write_bytes(other)
        os.utime(self.path, (1, 1))  # it may have been written in the same instant
        self.assertEqual(self.names(), ["Station", "Market"])

    def test_missing_file(self) -> None:
        """It is reported as unavailable, and not created; it is read once it exists."""
        self.reader = self.reading(self.directory / "later.db")
        error = self.failed()
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertEqual(error.message, "the database is not on this machine yet")
        self.assertEqual(os.listdir(self.directory), ["places.db"])
        later = self.directory / "later.db"
        later.symlink_to(later)
        self.assertIn("cannot be read: Too many levels", self.failed().message)
        later.unlink()
        make_database(later)
        self.assertEqual(self.names(), ["Harbour", "Market"])

    def test_link(self) -> None:
        """A link to a database is followed, and followed again when it changes."""
        link = self.directory / "link.db"
        link.symlink_to(self.path)
        self.reader = self.reading(link)
        self.assertEqual(self.names(), ["Harbour", "Market"])
        make_database(self.directory / "new.db", ["CREATE TABLE places (id, name)"])
        link.unlink()
        link.symlink_to(self.directory / "new.db")
        self.assertEqual(self.names(), [])

    def test_attack_no_regular_file(self) -> None:
        """A device, a pipe or a directory in its place is not opened."""
        pipe = self.directory / "pipe.db"
        os.mkfifo(pipe)
        link = self.directory / "link.db"
        link.symlink_to("/dev/zero")
        for path in (pipe, link, self.directory, self.directory / "places.db" / "x"):
            self.reader = self.reading(path)
            self.assertEqual(self.failed().code, Code.UNAVAILABLE)

    def test_odd_names(self) -> None:
        """A path is a path, whatever it would mean in a URI."""
        odd = self.directory / "a?mode=rwc&b#c%20 é.db"
        make_database(self.directory / "x.db")
        os.rename(self.directory / "x.db", odd)
        self.reader = self.reading(odd)
        self.assertEqual(self.names(), ["Harbour", "Market"])

    def test_corrupt_file(self) -> None:
        """A damaged file, or any other, is reported; a whole one is read again."""
        whole = self.path.read_bytes()
        for content, message in (
            (whole[:4096] + b"\xff" * (len(whole) - 4096), "the database is damaged"),
            (b"places of a text file\n" * 500, "the file is not an SQLite database"),
        ):
            self.path.write_bytes(content)
            error = self.failed()
            self.assertEqual((error.code, error.message), (Code.INTERNAL, message))
        self.path.write_bytes(whole)
        self.assertEqual(self.names(), ["Harbour", "Market"])

    def test_attack_truncated_under_way(self) -> None:
        """A file that is made shorter while it is open is damaged, and harms nobody."""
        self.names()
        os.truncate(self.path, 6000)
        error = self.assertRaises(BridgeError, self.rows, "SELECT * FROM numbers")
        self.assertEqual(error.code, Code.INTERNAL)

    def test_locked(self) -> None:
        """
        A locked database is waited for, and then reported as busy; it is not read as
        one that nobody changes.
        """
        owner = self.owner()
        owner.execute("BEGIN EXCLUSIVE")
        error = self.failed()
        self.assertEqual(
            (error.code, error.message),
            (Code.INTERNAL, "the database is busy; ask again"),
        )
        owner.execute("COMMIT")
        self.assertEqual(self.names(), ["Harbour", "Market"])

    def test_attack_changed_bytes(self) -> None:
        """Whatever is in a file: it is read or refused."""
        whole = self.path.read_bytes()[: 3 * 4096]
        for seed in range(300):
            changed = bytearray(whole)
            for step in range(12):
                place = (seed * 7919 + step * 104_729) % len(whole)
                changed[place] = (seed * 31 + step * 17) % 256
            self.path.write_bytes(changed)
            with contextlib.suppress(BridgeError):
                self.rows("SELECT * FROM places, sqlite_master")
            with contextlib.suppress(BridgeError):
                self.rows("SELECT count(n) FROM numbers")
            self.reader.close()


class AttackTests(ReaderCase):
    """Statements that want more than to read; each is refused, and the next runs."""

    def test_attack_more_than_reading(self) -> None:
        """No file is opened, made or changed, nothing is set, and no path leaks."""
        made = self.directory / "made.db"
        for sql in (
            f"ATTACH '{made}' AS x",
            "/**/ATTACH/**/'x'/**/AS/**/y",
            f"EXPLAIN QUERY PLAN ATTACH '{made}' AS x",
            # It would show addresses of the daemon's memory.
            "explain SELECT * FROM json_each('[]')",
            "DETACH main",
            "DELETE FROM places",
            "INSERT INTO places VALUES (9, 'x', NULL)",
            "UPDATE places SET name = 'x' RETURNING name",
            "UPDATE sqlite_master SET sql = ''",
            "CREATE TEMP TABLE x (a)",
            "CREATE TEMP VIEW places AS SELECT 1",
            "CREATE VIRTUAL TABLE x USING fts5(a)",
            "CREATE TRIGGER x AFTER INSERT ON places BEGIN SELECT 1; END",
            "DROP TABLE places",
            "ANALYZE",
            "BEGIN",
        ):
            self.assertIn("readonly", self.refused(sql), sql)
        for sql in (
            f"VACUUM INTO '{made}'",
            "PRAGMA database_list",
            "PRAGMA query_only = OFF",
            "pragma temp_store_directory = '/tmp'",
            "SELECT * FROM pragma_database_list",
            "SELECT * FROM dbstat",
            # What a comment hides from people it does not hide from SQLite.
            "SELECT 1 -- \n; DELETE FROM places",
            "SELECT 1 /*; */; DELETE FROM places --",
        ):
            self.assertIn(REFUSED, self.refused(sql), sql)
        self.assertEqual(self.refused("ATTACH 'x' AS y"), READONLY)
        self.assertFalse(made.exists())

    def test_attack_functions(self) -> None:
        """Functions that load, log, allocate or can't be interrupted are not called."""
        for call in (
            "load_extension('/tmp/x.so')",
            "fts3_tokenizer('simple', x'4141414141414141')",
            "zeroblob(1000000000)",
            "randomblob(1000000000)",
            "printf('%.*c', 900000000, 'x')",
            "sqlite_log(1, 'x')",
            "writefile('x', 'y')",
        ):
            self.assertIn(REFUSED, self.refused(f"SELECT {call}"), call)
            self.refused(f"SELECT * FROM places WHERE {call}")
            self.refused(f"SELECT max(1) FILTER (WHERE {call}) FROM places")
        self.assertEqual(self.refused("SELECT zeroblob(1)"), FUNCTION)

    def test_attack_growth(self) -> None:
        """A value that doubles and doubles ends at a limit."""
        for grown in ("s || s", "replace(s, 'a', 'aa')", "hex(s)", "quote(s || s)"):
            message = self.refused(
                "WITH RECURSIVE r(s) AS (SELECT 'aa' UNION ALL "
                f"SELECT {grown} FROM r) SELECT max(length(s)) FROM r"
            )
            self.assertIn(message, (TOO_LONG, MEMORY), grown)
        for gathered in ("group_concat(?1)", "json_group_array(?1)"):
            message = self.refused(
                f"SELECT length({gathered}) FROM numbers", "x" * 1000
            )
            self.assertEqual(message, TOO_LONG)

    def test_attack_recursion(self) -> None:
        """An endless statement ends at its deadline, or interrupted as it begins."""
        endless = ENDLESS + "SELECT count(*) FROM r"
        self.clock.looks = 5
        error = self.assertRaises(BridgeError, self.rows, endless)
        self.assertEqual((error.code, error.message), (Code.BAD_REQUEST, LATE))
        self.clock.looks = 1_000
        self.assertEqual(self.names(), ["Harbour", "Market"])
        self.reader.interrupt()
        self.assertRaises(BridgeError, self.rows, endless)
        self.assertGreater(self.clock.looks, 0)

    def test_attack_sorts(self) -> None:
        """A sort of more than memory may hold is refused, and writes no file."""
        message = self.refused(
            "SELECT a.n FROM numbers a, numbers b ORDER BY hex(a.n) || hex(b.n)"
        )
        self.assertIn(message, (MEMORY, LATE))

    def test_attack_nested_names(self) -> None:
        """Expressions that double with each name end while they are prepared."""
        for pair in (
            "SELECT p.x FROM {0} p, {0} q",
            "SELECT x FROM {0} UNION SELECT x FROM {0}",
        ):
            names = ["a0 AS (SELECT 1 AS x)"]
            names += [f"a{i} AS ({pair.format(f'a{i - 1}')})" for i in range(1, 60)]
            sql = f"WITH {', '.join(names)} SELECT * FROM a59"
            self.assertIn(REFUSED, self.refused(sql))

    def test_attack_expressions(self) -> None:
        """So do expressions that are too long, too deep or too many."""
        for sql in (
            "SELECT " + "+".join(["1"] * 10_000),
            "SELECT " + "(" * 5000 + "1" + ")" * 5000,
            "SELECT " + "NOT " * 10_000 + "1",
            "SELECT " + " UNION ALL SELECT ".join(["1"] * 1000),
            "SELECT * FROM " + ",".join(["places"] * 65),
            "SELECT " + ",".join(["1"] * 5000),
            "SELECT 'x" + "x" * 70_000 + "'",
            "SELECT 1 LIKE '" + "%_" * 200 + "'",
        ):
            self.refused(sql)
        many = ",".join(["1"] * 30_000)
        self.assertEqual(self.refused(f"SELECT 1 WHERE 1 IN ({many})"), MEMORY)
        self.assertTrue(self.rows("SELECT " + ",".join(["abs(1)"] * 64)))
        many = ",".join(["abs(1)"] * 65)
        self.assertIn("more than 64 functions", self.refused(f"SELECT {many}"))

    def test_attack_searches(self) -> None:
        """The slowest searches end in a moment: nothing interrupts a function."""
        text, needle = "a" * 131_000, "a" * 65_000 + "b"
        begun = time.perf_counter()
        for sql in (
            "SELECT instr(?1, ?2)",
            "SELECT length(replace(?1, ?2, 'x'))",
            "SELECT ?1 LIKE '%" + "a%" * 100 + "b', ?2",
            "SELECT ?1 LIKE '%" + "a" * 200 + "b', ?2",
            "SELECT ?1 GLOB '*" + "[b-ya-z]" * 30 + "0', ?2",
            "SELECT ?1 GLOB '*" + "a*" * 100 + "b', ?2",
        ):
            self.rows(sql, text, needle)
        self.assertLess(time.perf_counter() - begun, 60)

    def test_attack_comparing_each_with_each(self) -> None:
        """What compares each part of two values gets shorter ones; others may go on."""
        text, cut = "a" * 17_000, "b" * 1000 + "a"
        for name in ("trim", "ltrim", "rtrim"):
            call = f"SELECT length({name}(?1, ?2)) AS n"
            self.assertEqual(self.rows(call, "a" * 16_000, cut), [{"n": 0}])
            self.assertIn("too long", self.refused(call, text, cut))
        keys = "{" + ",".join(f'"{number}":null' for number in range(1500)) + "}"
        self.assertIn("too long", self.refused("SELECT json_patch(?, ?)", keys, keys))
        self.assertEqual(self.rows("SELECT instr(?, 'b') AS n", text), [{"n": 0}])
        # SQLite 3.41 and later have it: 4 s for two of 64 KB.
        authorizer = StatementAuthorizer()
        authorizer(sqlite3.SQLITE_FUNCTION, None, "unhex", None, None)
        self.assertEqual(authorizer.value_bytes, SQL_SLOWEST_VALUE_BYTES)

    def test_attack_hostile_schema(self) -> None:
        """Views, generated columns and virtual tables of the file may do no harm."""
        self.path = make_database(
            self.directory / "hostile.db",
            [
                "CREATE TABLE places (id INTEGER, name TEXT)",
                "INSERT INTO places VALUES (1, 'Harbour'), (2, 'Market')",
                "CREATE VIEW loads AS SELECT load_extension('/tmp/x.so')",
                "CREATE VIEW tokens AS SELECT fts3_tokenizer('simple', x'41')",
                "CREATE VIEW paths AS SELECT file FROM pragma_database_list",
                "CREATE VIEW prints AS SELECT printf('%.*c', 900000000, 'x') AS a",
                f"CREATE VIEW endless AS {ENDLESS} SELECT count(*) AS n FROM r",
                "CREATE VIEW json_each AS SELECT load_extension('x') AS value",
                "CREATE VIRTUAL TABLE words USING fts5(a)",
                "CREATE VIRTUAL TABLE old USING fts4(a)",
                "CREATE VIRTUAL TABLE boxes USING rtree(id, a, b)",
                "CREATE VIEW itself AS SELECT 1 AS a",
                "PRAGMA writable_schema = ON",
                "UPDATE sqlite_master SET sql = 'CREATE VIEW itself AS SELECT * FROM "
                "itself' WHERE name = 'itself'",
                "UPDATE words_data SET block = x'ffffffffffffffffffff'",
            ],
        )
        self.reader = self.reading(self.path)
        views = ("loads", "tokens", "paths", "prints", "json_each", "itself")
        for name in (*views, "words WHERE words MATCH 'x'", "old", "boxes"):
            self.assertIn(REFUSED, self.refused(f"SELECT * FROM {name}"), name)
        for name in ("words", "old"):
            self.assertEqual(self.refused(f"SELECT count(*) FROM {name}"), READONLY)
        self.assertTrue(self.rows("SELECT block FROM words_data"))
        self.assertTrue(self.rows("SELECT name, sql FROM sqlite_master"))
        self.clock.looks = 5
        self.assertRaises(BridgeError, self.rows, "SELECT * FROM endless")

    def test_attack_names_that_are_not_utf_8(self) -> None:
        """Names in the file that can't be decoded are no bug of ours."""
        self.path = make_database(
            self.directory / "names.db",
            [
                "CREATE TABLE places (id, name)",
                "CREATE TABLE odd (a)",
                "INSERT INTO odd VALUES (1)",
                "PRAGMA writable_schema = ON",
                "UPDATE sqlite_master SET sql = CAST(x'"
                + b'CREATE TABLE odd ("\xff\xfe")'.hex()
                + "' AS TEXT) WHERE name = 'odd'",
            ],
        )
        self.reader = self.reading(self.path)
        for sql in ("SELECT * FROM odd", "SELECT * FROM odd, nope"):
            self.assertRaises(BridgeError, self.rows, sql)
        self.assertEqual(self.names(), [])


class MeterTests(SynchronousTestCase):
    def test_attack_values_that_count_for_nothing(self) -> None:
        """Each value counts, and what is over the limit by a byte is refused."""
        cases: list[tuple[Any, int]] = [
            (None, 4),
            (0, 20),
            (-(2**53), 20),
            (1.5, 20),
            (b"", 32),
            (b"x" * 31, 32 + 41),
        ]
        for value, size in cases:
            Meter(True, size).value(value)
            short = Meter(True, size - 1)
            self.assertRaises(BridgeError, short.value, value)
        Meter(False, 32).value(b"x" * 31)
        Meter(True, 5).text(b"abc")
        self.assertRaises(BridgeError, Meter(True, 4).text, b"abc")
