"""Tests for bridge.databases.sqliteerrors."""

import sqlite3

from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.sqliteerrors import primary_code, refusal
from bridge.protocol.errors import Code


def failed(code: int | None, message: str = "secret") -> sqlite3.OperationalError:
    """Make an error as Python's module does."""
    error = sqlite3.OperationalError(message)
    if code is not None:
        error.sqlite_errorcode = code
    return error


class WordingTests(SynchronousTestCase):
    """Tests for how errors are worded."""

    def test_who_is_to_blame(self) -> None:
        """The statement, or the state of the database; never is SQLite quoted."""
        for code, blamed in (
            (sqlite3.SQLITE_ERROR, Code.BAD_REQUEST),
            (sqlite3.SQLITE_AUTH, Code.BAD_REQUEST),
            (sqlite3.SQLITE_INTERRUPT, Code.BAD_REQUEST),
            (sqlite3.SQLITE_TOOBIG, Code.BAD_REQUEST),
            (sqlite3.SQLITE_NOMEM, Code.BAD_REQUEST),
            (sqlite3.SQLITE_READONLY, Code.BAD_REQUEST),
            (None, Code.BAD_REQUEST),
            (sqlite3.SQLITE_BUSY, Code.INTERNAL),
            (sqlite3.SQLITE_BUSY | 2 << 8, Code.INTERNAL),
            (sqlite3.SQLITE_CORRUPT, Code.INTERNAL),
            (sqlite3.SQLITE_CANTOPEN, Code.INTERNAL),
            (sqlite3.SQLITE_READONLY | 6 << 8, Code.INTERNAL),
            (sqlite3.SQLITE_IOERR, Code.INTERNAL),
        ):
            error = refusal(failed(code))
            self.assertEqual(error.code, blamed, code)
            self.assertNotIn("secret", error.message)

    def test_names(self) -> None:
        """A name that can't be decoded is the database's fault."""
        error = refusal(UnicodeDecodeError("utf-8", b"secret\xff", 6, 7, "secret"))
        self.assertEqual(error.code, Code.INTERNAL)
        self.assertNotIn("secret", error.message)

    def test_memory(self) -> None:
        """Python's own error of memory is SQLite's."""
        self.assertEqual(primary_code(MemoryError()), sqlite3.SQLITE_NOMEM)
