"""Tests of the doubles: each keeps the contract of what it stands in for."""

from twisted.internet import reactor
from twisted.internet.interfaces import IReactorUNIX
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bridge.desktop import DesktopError, INotifications, Note

from .approval.screens import FakeScreen
from .contracts import ApproverContract
from .desktop.buses import HastyReactor
from .plugins.bench import FakeApprover


class FakeApproverTests(ApproverContract, SynchronousTestCase):
    """The approver that answers at once."""

    def approver(self):
        """See ``ApproverContract``."""
        return FakeApprover(answers=[True, False, True])


class OpenFakeApproverTests(ApproverContract, SynchronousTestCase):
    """The same, with a user who thinks about it."""

    def approver(self):
        """See ``ApproverContract``."""
        return FakeApprover(answers=[None, None, None])


class FakeScreenTests(SynchronousTestCase):
    """The desktop in memory."""

    def test_it_provides_the_interface(self):
        """It has all that ``INotifications`` names."""
        self.assertTrue(verifyObject(INotifications, FakeScreen()))

    def test_it_fails_as_a_desktop_does(self):
        """Without a server nothing is found, and nothing can be asked."""
        screen = FakeScreen()
        screen.failure = "no desktop"
        self.failureResultOf(screen.find(), DesktopError)
        self.failureResultOf(screen.ask(Note("a", "b", "c"), []), DesktopError)
        self.assertEqual(screen.health, "down")


class HastyReactorTests(SynchronousTestCase):
    """The reactor for which time runs faster."""

    def test_it_is_the_reactor(self):
        """Everything but time is the real reactor's."""
        hasty = HastyReactor()
        self.assertTrue(verifyObject(IReactorUNIX, hasty))
        self.assertEqual(hasty.listenUDP, reactor.listenUDP)
