import sqlite3

from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.statements import primary_code, refusal
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
        for error, blamed in (
            (failed(None), Code.BAD_REQUEST),
            (failed(sqlite3.SQLITE_BUSY | 2 << 8), Code.INTERNAL),
            (failed(sqlite3.SQLITE_READONLY | 6 << 8), Code.INTERNAL),
            (failed(sqlite3.SQLITE_IOERR), Code.INTERNAL),
            # A name that can't be decoded.
            (UnicodeDecodeError("utf-8", b"secret\xff", 6, 7, "secret"), Code.INTERNAL),
        ):
            refused = refusal(error)
            self.assertEqual(refused.code, blamed, error)
            self.assertNotIn("secret", refused.message)

    def test_memory(self) -> None:
        """Python's own error of memory is SQLite's."""
        self.assertEqual(primary_code(MemoryError()), sqlite3.SQLITE_NOMEM)
