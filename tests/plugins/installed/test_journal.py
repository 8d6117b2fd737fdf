"""Tests for ``bridge.plugins.installed.journal``."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.installed.exchange import Exchange
from bridge.plugins.installed.journal import Journal, JournalError
from bridge.plugins.installed.records import Former

from ...directories import fresh_directory, planted

BEFORE = [
    Former("bridge.plugins", "good", {"signedAt": 4}),
    Former("bridge.plugin-keys", "new"),
    Former("plugin:good"),
]
EXCHANGE = Exchange(
    Operation.UPDATE, "good", ".tmp-0a", ".tmp-0b", {"signedAt": 5}, BEFORE
)


class JournalTests(SynchronousTestCase):
    """Tests for ``Journal``."""

    def setUp(self):
        """Make one."""
        self.path = fresh_directory(self) / "journal"
        self.journal = Journal(self.path)

    def test_nothing_under_way(self):
        """Without a file nothing is under way, and nothing is to be ended."""
        self.assertIsNone(self.journal.read())
        self.assertFalse(self.journal.exists())
        self.journal.end()
        self.journal.tidy()

    def test_round_trip(self):
        """What was begun is read, until it is ended."""
        for exchange in (
            EXCHANGE,
            Exchange(Operation.INSTALL, "good", ".tmp-0a", None, {}),
            Exchange(Operation.UNINSTALL, "good", None, ".tmp-0b", None),
        ):
            self.journal.begin(exchange)
            self.assertTrue(self.journal.exists())
            self.assertEqual(self.journal.read(), exchange)
        self.journal.end()
        self.assertIsNone(self.journal.read())
        self.assertEqual(list(self.path.parent.iterdir()), [])

    def test_attack_planted(self):
        """Another user's journal would move trees: it is not read, and it is kept."""
        self.journal.begin(EXCHANGE)
        planted(self, self.path)
        error = self.assertRaises(JournalError, self.journal.read)
        self.assertIn(f"{self.path} belongs to another user", str(error))
        self.assertTrue(self.journal.exists())

    def test_mode(self):
        """Nobody else may read it."""
        self.journal.begin(EXCHANGE)
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)

    def test_what_a_crash_left(self):
        """A journal that was never whole is not one, and is removed."""
        unfinished = self.path.with_name("journal.tmp")
        unfinished.write_text("{")
        self.assertIsNone(self.journal.read())
        self.journal.tidy()
        self.assertFalse(unfinished.exists())

    def test_other_shapes(self):
        """What is no journal of this version is refused, and stays."""
        self.journal.begin(EXCHANGE)
        good = json.loads(self.path.read_bytes())
        for bad in (
            "text",
            {},
            {**good, "op": "trust_key"},
            {**good, "before": [{"key": "a"}]},
            {**good, "pluginId": "../x"},
            {**good, "new": "../../home"},
            {**good, "old": "other"},
            {**good, "new": 5},
            {**good, "record": []},
            {**good, "version": 2},
        ):
            self.path.write_text(json.dumps(bad))
            with self.assertRaises(JournalError) as caught:
                self.journal.read()
            self.assertIn(str(self.path), str(caught.exception))
            self.assertTrue(self.path.exists())

    def test_not_a_file(self):
        """A directory in its place is refused."""
        self.path.mkdir()
        self.assertRaises(JournalError, self.journal.read)

    @settings(deadline=None)
    @given(st.binary(max_size=200))
    def test_any_bytes(self, content):
        """Whatever is in the file, it is a journal or refused."""
        self.path.write_bytes(content)
        self.assertRaises(JournalError, self.journal.read)
