"""Tests for bridge.databases.opening: databases with and without companions."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.databases.opening import open_database
from bridge.databases.reader import Query, Reader
from bridge.protocol.errors import BridgeError, Code
from tests.directories import fresh_directory

from .samples import PLACES, make_database

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
        return reader.read(COUNT).rows

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
                    results.append(reader.read(COUNT).rows)
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
        self.assertEqual(
            (error.code, error.message),
            (Code.INTERNAL, "the database cannot be opened"),
        )
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
        opened = open_database(self.path)
        connection = opened.connection
        self.addCleanup(connection.close)
        self.assertFalse(opened.for_once)
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
