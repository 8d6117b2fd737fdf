"""Tests for bridge.sinks.notification; what callers see is tested with the service."""

from attrs import fields
from twisted.trial.unittest import SynchronousTestCase

from bridge.sinks.notification import FIELDS, Message, Patch, notification, patched


class MessageTests(SynchronousTestCase):
    """Tests for what a caller writes."""

    def test_the_title_is_first(self):
        """The required field is read, and documented, before the others."""
        self.assertEqual(fields(Message)[0].name, "title")
        self.assertEqual(len(fields(Message)), len(FIELDS))

    def test_time(self):
        """A millisecond is the shortest; less, and nothing, is the target's default."""
        for seconds, shown in (
            (None, None),
            (0, None),
            (0.0009, None),
            (0.001, 0.001),
            (1.0, 1.0),
        ):
            made = notification(Message(title="a", timeout_secs=seconds), "S")
            self.assertEqual(made.timeout, shown)

    def test_patched(self):
        """A patch replaces what it has, also with nothing; the rest stays."""
        base = Message(title="a", content="b", icon="c", sound=True)
        self.assertEqual(
            patched(base, Patch(icon="", sound=False)),
            Message(title="a", content="b", icon="", sound=False),
        )
