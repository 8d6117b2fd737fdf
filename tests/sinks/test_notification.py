"""Tests for bridge.sinks.notification; what callers see is tested with the service."""

from attrs import fields
from twisted.trial.unittest import SynchronousTestCase

from bridge.sinks.notification import FIELDS, Message


class MessageTests(SynchronousTestCase):
    """Tests for what a caller writes."""

    def test_the_title_is_first(self):
        """The required field is read, and documented, before the others."""
        self.assertEqual(fields(Message)[0].name, "title")
        self.assertEqual(len(fields(Message)), len(FIELDS))
