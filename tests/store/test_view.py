"""Tests for bridge.store.view."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.store import Store, StoreError
from bridge.store.view import StateView

from ..directories import fresh_directory, planted


class StateViewTests(SynchronousTestCase):
    """Tests for reading another process's state."""

    def setUp(self):
        """A path."""
        self.path = fresh_directory(self) / "state.json"

    def test_entries(self):
        """Namespaces are read; one that is not there is empty, and so is no file."""
        self.assertEqual(StateView.read(self.path).entries("a"), {})
        self.path.write_bytes(b'{"a":{"b":1}}')
        view = StateView.read(self.path)
        self.assertEqual(view.entries("a"), {"b": 1})
        self.assertEqual(view.entries("c"), {})

    def test_previous_generation(self):
        """What the daemon would start with is read when the file is missing."""
        self.path.with_name("state.json.bak").write_bytes(b'{"a":{"b":1}}')
        self.assertEqual(StateView.read(self.path).entries("a"), {"b": 1})
        self.path.write_bytes(b'{"a":{"b":2}}')
        self.assertEqual(StateView.read(self.path).entries("a"), {"b": 2})
        self.path.write_bytes(b"{")
        self.assertRaises(StoreError, StateView.read, self.path)

    def test_nothing_is_touched(self):
        """A damaged or unknown file is refused, and stays; so does a daemon's."""
        temporary = self.path.with_name("state.json.tmp")
        temporary.write_bytes(b"half")
        for content in (b"{{", b"[]", b'{"a":1}'):
            self.path.write_bytes(content)
            self.assertRaises(StoreError, StateView.read, self.path)
            self.assertEqual(self.path.read_bytes(), content)
        self.assertTrue(temporary.exists())

    def test_attack_planted(self):
        """Another user's file is not read; the message has the command."""
        self.path.write_bytes(b"{}")
        planted(self, self.path)
        error = self.assertRaises(StoreError, StateView.read, self.path)
        self.assertIn(f'run: sudo chown -R "$USER" {self.path}', str(error))
        error = self.assertRaises(StoreError, Store.open, self.path, None)
        self.assertIn(f'run: sudo chown -R "$USER" {self.path}', str(error))

    def test_unreadable(self):
        """An error of the system is reported in its words."""
        self.path.mkdir()
        error = self.assertRaises(StoreError, StateView.read, self.path)
        self.assertIn("cannot be read: not a regular file", str(error))
