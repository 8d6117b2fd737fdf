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
    def test_who_is_to_blame(self) -> None:
        """What the tests of the reader do not meet; SQLite is never quoted."""
        for code, blamed in (
            (None, Code.BAD_REQUEST),
            (sqlite3.SQLITE_BUSY | 2 << 8, Code.INTERNAL),
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
