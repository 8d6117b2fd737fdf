"""Tests for virtual tables that SQLite connects without asking."""

import sqlite3
import tracemalloc

from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.virtualtables import json_tables, opened_tables

GEOPOLY = (
    "SELECT 0, '_shape', '', 0, NULL, 0, 0"
    " UNION ALL SELECT 1, 'json', 'hidden', 0, NULL, 0, 1"
    " UNION ALL SELECT 2, 'root', 'hidden', 0, NULL, 0, 1"
)
"""The columns of a table made by ``USING geopoly(json hidden, root hidden)``."""


class GeopolyConnection(sqlite3.Connection):
    """One of an SQLite that has geopoly, of which few are built."""

    def execute(self, sql: str, parameters=()) -> sqlite3.Cursor:
        """Show another table's columns as those of a geopoly."""
        return super().execute(GEOPOLY if "json_each)" in sql else sql, parameters)


class VirtualTablesTests(SynchronousTestCase):
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
            "EXPLAIN SELECT a FROM words",
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
