"""Tests for bridge.daemon.late."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.daemon.late import WARM_AFTER_SECONDS, Late
from bridge.protocol.errors import BridgeError


class LateTests(SynchronousTestCase):
    """Tests for Late."""

    def setUp(self):
        """Something that is made later."""
        self.clock = Clock()
        self.made, self.begun, self.failed = [], [], []

    def late(self, *modules, make=None):
        """Make it."""

        def made():
            self.made.append("thing")
            return "thing"

        late = Late(self.clock, modules, make or made, lambda: self.failed.append(True))
        late.begin = self.begun.append
        return late

    def test_made_by_its_first_use(self):
        """It is made once, and begun before it is returned; warming then ends."""
        late = self.late("json")
        late.warm()
        self.assertEqual(late.get(), "thing")
        self.assertIs(late.get(), late.made)
        self.assertEqual((self.made, self.begun), (["thing"], ["thing"]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_made_in_the_background(self):
        """Each module has a turn of its own; nothing is imported before the first."""
        delays, call_later = [], self.clock.callLater

        def noting(delay, *call):
            delays.append(delay)
            return call_later(delay, *call)

        self.patch(self.clock, "callLater", noting)
        self.late("json", "calendar").warm()
        self.assertEqual(self.made, [])
        self.clock.advance(WARM_AFTER_SECONDS)
        self.assertEqual(delays, [WARM_AFTER_SECONDS, 0, 0])
        self.assertEqual((self.made, self.begun), (["thing"], ["thing"]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_cannot_be_made(self):
        """A failure in the background is logged and reported; in use, it is raised."""
        late = self.late("bridge.no_such_module")
        late.warm()
        self.clock.advance(WARM_AFTER_SECONDS)
        self.assertEqual(self.failed, [True])
        self.assertEqual(len(self.flushLoggedErrors(ImportError)), 1)

        def broken():
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, self.late(make=broken).get)

    def test_closed(self):
        """A daemon that shuts down makes nothing more, but what is made stays."""
        late = self.late("json")
        late.warm()
        late.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        refused = self.assertRaises(BridgeError, late.get)
        self.assertIn("shut", str(refused))
        late = self.late()
        late.get()
        late.close()
        self.assertEqual(late.get(), "thing")
