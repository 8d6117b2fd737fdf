"""Tests for bridge.databases.statements."""

from __future__ import annotations

import sqlite3
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.statements import is_blank, is_one_statement, statement_end

PIECES = st.one_of(
    st.sampled_from([";", "--", "/*", "*/", "''", "SELECT 1", "é"]),
    st.sampled_from("'\"`[]-/*(\\ax1 \n\t\f\r"),
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


def complete(sql: str) -> bool:
    """Find, by our tokens, what ``sqlite3.complete_statement`` finds by SQLite's."""
    ended, rest = False, sql
    while (end := statement_end(rest)) is not None:
        ended, rest = True, rest[end:]
    return ended and is_blank(rest)


class StatementTests(SynchronousTestCase):
    """Tests for where statements end."""

    def test_one(self) -> None:
        """A semicolon in a literal, a name or a comment ends nothing."""
        for sql in (
            "SELECT 1",
            "SELECT 1;",
            "SELECT 1 ; \t\n\f\r",
            "SELECT 1; -- done",
            "SELECT 1; /* done; */ -- and; done",
            "SELECT ';', \"a;b\", `c;d`, [e;f] -- g;\n /* h; */ FROM t",
            "SELECT 'it''s; fine';",
            "SELECT 4/2, 3-1, a->b FROM t;",
            "SELECT 1 /* not closed ; ",
            "SELECT 'not closed ; ",
            "",
            ";",
        ):
            self.assertTrue(is_one_statement(sql), sql)

    def test_attack_second_statement(self) -> None:
        """Anything else after a semicolon is another statement."""
        for sql in (
            "SELECT 1; SELECT 2",
            "SELECT 1;;",
            ";SELECT 1",
            "SELECT 1;\0",
            "SELECT 1;\u00a0",
            "SELECT 1; -- a\nSELECT 2",
            "SELECT 1; /* a */ SELECT 2",
            "SELECT '';DROP TABLE t",
            "SELECT 'a''';DROP TABLE t",
            'SELECT "a""";DROP TABLE t',
            "SELECT [a];DROP TABLE t",
            "SELECT 1 --\n;DROP TABLE t",
            "SELECT 1 /*/ ; */;DROP TABLE t",
            "SELECT 1 /* /* */;DROP TABLE t",
            "SELECT '\\';DROP TABLE t",
        ):
            self.assertFalse(is_one_statement(sql), sql)

    @given(TEXTS)
    @settings(deadline=None, max_examples=400)
    def test_as_sqlite_has_it(self, sql: str) -> None:
        """SQLite sees the end of a statement where we do."""
        if not _in_comment(sql):
            self.assertEqual(complete(sql), sqlite3.complete_statement(sql), sql)

    @given(TEXTS)
    @settings(deadline=None, max_examples=200)
    def test_never_two_by_python(self, sql: str) -> None:
        """What we take for one statement is not two for Python's module."""
        if not is_one_statement(sql) or "\0" in sql:
            return
        connection = sqlite3.connect(":memory:")
        try:
            connection.execute(sql)
        except sqlite3.Error as e:
            self.assertNotIn("one statement", str(e))
        finally:
            connection.close()

    def test_attack_long_texts(self) -> None:
        """The longest and oddest texts are looked at once."""
        begun = time.perf_counter()
        for piece in ("'", "[", "--\n", "/*", "/", "-", "-/", "a", "'';", "/**/", "`"):
            is_one_statement(piece * (65536 // len(piece)))
            is_one_statement(";" + piece * (65536 // len(piece)))
        self.assertLess(time.perf_counter() - begun, 30)


def _in_comment(sql: str) -> bool:
    """Whether the text ends in a comment that is not closed: opinions differ."""
    rest = sql
    while (end := statement_end(rest)) is not None:
        rest = rest[end:]
    return is_blank(rest + "\na")
