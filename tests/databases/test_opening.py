"""Tests for bridge.databases.reader: databases with and without companions."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.reader import (
    Query,
    Reader,
    identity,
    json_tables,
    open_database,
    opened_tables,
)
from bridge.protocol.errors import BridgeError, Code
from tests.directories import fresh_directory

from .samples import PLACES, make_database, written

COUNT = Query("SELECT count(*) AS n FROM places", [])
NOBODY = 65534
KILLED = """
import os, sqlite3, sys
owner = sqlite3.connect(sys.argv[1], isolation_level=None)
owner.execute("PRAGMA cache_size = 5")
owner.execute("BEGIN")
owner.execute("INSERT INTO places SELECT NULL, hex(zeroblob(100)), n FROM numbers")
os._exit(0)
"""
GEOPOLY = (
    "SELECT 0, '_shape', '', 0, NULL, 0, 0"
    " UNION ALL SELECT 1, 'json', 'hidden', 0, NULL, 0, 1"
    " UNION ALL SELECT 2, 'root', 'hidden', 0, NULL, 0, 1"
)
"""The columns of a table made by ``USING geopoly(json hidden, root hidden)``."""


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Be somebody whom permissions bind, where the tests are run by root."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class OpeningTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a database in WAL mode, in a directory that others may look into."""
        self.directory = fresh_directory(self) / "host"
        self.directory.mkdir()
        self.addCleanup(self.directory.chmod, 0o755)
        self.path = self.directory / "places.db"
        make_database(self.path, ["PRAGMA journal_mode = WAL", *PLACES[:2]])

    def count(self) -> Any:
        reader = Reader(self.path, lambda: 0.0)
        self.addCleanup(reader.close)
        return written(reader.read(COUNT))

    def read_only(self, meanwhile: Callable[[], None] = lambda: None) -> list[Any]:
        """Read twice as somebody who can't write to the directory."""
        self.directory.parent.chmod(0o755)
        reader = Reader(self.path, lambda: 0.0)
        self.addCleanup(reader.close)
        results: list[Any] = []
        for before in (lambda: None, meanwhile):
            self.directory.chmod(0o755)
            before()
            self.directory.chmod(0o555)
            with nobody():
                try:
                    results.append(written(reader.read(COUNT)))
                except BridgeError as e:
                    results.append((e.code, e.message))
        return results

    def change(self) -> None:
        """Change the database as its owner does, who keeps it open."""
        owner = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(owner.close)
        owner.execute("INSERT INTO places VALUES (3, 'Quay', NULL)")
        for end in ("", "-wal", "-shm"):
            os.chmod(f"{self.path}{end}", 0o644)

    def crash(self) -> None:
        """Change a copy of the database, and leave it as a killed owner does."""
        self.change()
        crashed = self.directory / "crashed.db"
        for end in ("", "-wal"):
            shutil.copy(f"{self.path}{end}", f"{crashed}{end}")
        self.path = crashed

    def test_companions(self) -> None:
        """They are made, as any reader's are; a log is read, also without its index."""
        whole, before = self.path, self.path.read_bytes()
        self.assertEqual(self.count(), [{"n": 2}])
        self.assertEqual(self.path.read_bytes(), before)
        self.crash()
        # What the owner has written since is read, and what a killed one has left.
        for path in (whole, self.path):
            self.path = path
            self.assertEqual(self.count(), [{"n": 3}])

    def test_read_only_directory_without_companions(self) -> None:
        """No process can be writing: the file is read as it is."""
        for log in ([], ["places.db-wal"]):  # an empty log has nothing
            self.directory.chmod(0o755)
            for name in log:
                (self.directory / name).touch()
            self.assertEqual(self.read_only(), [[{"n": 2}], [{"n": 2}]])
            found = os.listdir(self.directory)
            self.assertEqual(sorted(found), ["places.db", *log])

    def test_read_only_directory_with_companions(self) -> None:
        """The log is read too, also one that comes while it is read."""
        self.assertEqual(self.read_only(self.change), [[{"n": 2}], [{"n": 3}]])

    def test_read_only_directory_with_a_log_alone(self) -> None:
        """It can't be read: without the log it would be out of date, unseen."""
        self.crash()
        refused = (Code.INTERNAL, "the database cannot be opened")
        self.assertEqual(self.read_only(), [refused, refused])

    def test_half_a_transaction(self) -> None:
        """What a killed owner had not committed is not read; first it is undone."""
        path = make_database(self.directory / "journal.db", PLACES)
        subprocess.run([sys.executable, "-c", KILLED, path], check=True)
        self.assertGreater(os.stat(f"{path}-journal").st_size, 0)
        self.path = path
        error = self.assertRaises(BridgeError, self.count)
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertIn("start its application, which undoes that", error.message)
        with contextlib.closing(sqlite3.connect(path)) as owner:
            owner.execute("SELECT * FROM places").close()
        self.assertEqual(self.count(), [{"n": 2}])

    def test_other_user_s_file(self) -> None:
        """A file that may not be read is reported as one that can't be opened."""
        if os.geteuid() == 0:
            os.chown(self.path, 0, 0)
        self.path.chmod(0o000)
        refused = (Code.INTERNAL, "the database cannot be opened")
        self.assertEqual(self.read_only(), [refused, refused])

    def test_settings(self) -> None:
        """SQLite is configured defensively."""
        opened = open_database(self.path, identity(self.path))
        connection = opened.connection
        self.addCleanup(connection.close)
        self.assertIsNotNone(opened.identity)
        for pragma, value in (
            ("query_only", 1),
            ("trusted_schema", 0),
            ("cell_size_check", 1),
            ("mmap_size", 0),
            ("temp_store", 2),
            ("hard_heap_limit", 128 * 2**20),
            ("busy_timeout", 3000),
        ):
            self.assertEqual(
                connection.execute(f"PRAGMA {pragma}").fetchone(), (value,)
            )
        attached = connection.getlimit(sqlite3.SQLITE_LIMIT_ATTACHED)
        self.assertEqual(attached, 0)


class GeopolyConnection(sqlite3.Connection):
    """One of an SQLite that has geopoly, of which few are built."""

    def execute(self, sql: str, parameters=()) -> sqlite3.Cursor:
        """Show another table's columns as those of a geopoly."""
        return super().execute(GEOPOLY if "json_each)" in sql else sql, parameters)


class VirtualTablesTests(SynchronousTestCase):
    """Tests for virtual tables that SQLite connects without asking."""

    def setUp(self) -> None:
        """Open a database that has a full-text table, and a view of it."""
        self.connection = sqlite3.connect(":memory:")
        self.addCleanup(self.connection.close)
        self.connection.executescript(
            "CREATE TABLE places (name); CREATE VIRTUAL TABLE words USING fts4(a);"
            "CREATE VIEW hidden AS SELECT a FROM words"
        )

    def test_json(self) -> None:
        """Those of JSON are the same in each statement."""
        tables = json_tables(self.connection)
        self.assertEqual(len(tables), 2)
        for sql in (
            "SELECT name FROM places",
            "SELECT value FROM places, json_each(name)",
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM json_tree('[]'))",
            "EXPLAIN QUERY PLAN SELECT a FROM words",
        ):
            self.assertLessEqual(opened_tables(self.connection, sql), tables, sql)

    def test_attack_where_it_is_not_named(self) -> None:
        """It is found behind a view, where no column is read, and with parameters."""
        tables = json_tables(self.connection)
        for sql, params in (
            ("SELECT * FROM hidden", ()),
            ("WITH r AS (SELECT count(*) FROM words) SELECT 1 FROM r", ()),
            ("SELECT 1 FROM json_each('[]') WHERE ?1 IN hidden", ("x",)),
        ):
            opened = opened_tables(self.connection, sql, params)
            self.assertFalse(opened <= tables, sql)

    def test_attack_that_cannot_be_explained(self) -> None:
        """What runs without being shown first is refused: SQLite skips semicolons."""
        for sql in (";SELECT a FROM words", "/**/;SELECT a FROM words"):
            self.connection.execute(sql).close()
            with self.assertRaises(sqlite3.OperationalError):
                opened_tables(self.connection, sql)

    def test_attack_named_after_json(self) -> None:
        """A table of the file that is called as one of JSON is not taken for it."""
        self.connection.execute(
            "CREATE VIRTUAL TABLE json_each USING fts4(value, languageid='json')"
        )
        tables = json_tables(self.connection)
        self.assertEqual(len(tables), 1)
        opened = opened_tables(self.connection, "SELECT 1 FROM json_each('[]')")
        self.assertFalse(opened <= tables)

    def test_attack_columns_hidden_as_those_of_json(self) -> None:
        """A geopoly of the file hides what it likes, and begins with its shape."""
        connection = sqlite3.connect(":memory:", factory=GeopolyConnection)
        self.addCleanup(connection.close)
        self.assertEqual(len(json_tables(connection)), 1)

    def test_attack_long_texts(self) -> None:
        """A program of long texts, repeated by a view, is not held as a whole."""
        text = "x" * 10_000
        self.connection.execute(f"CREATE VIEW long AS SELECT '{text}' FROM places")
        sql = " UNION ALL ".join(["SELECT * FROM long"] * 100)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        opened_tables(self.connection, sql)
        self.assertLess(tracemalloc.get_traced_memory()[1], 10 * len(text))
