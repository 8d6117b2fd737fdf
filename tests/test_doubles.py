"""Tests of doubles that many tests use: each keeps the contract of the real part."""

from twisted.internet import reactor
from twisted.internet.interfaces import IReactorUNIX
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from .contracts import ApproverContract
from .freedesktop.buses import HastyReactor
from .plugins.operations.bench import FakeApprover


class FakeApproverTests(ApproverContract, SynchronousTestCase):
    """The approver that answers at once."""

    def approver(self):
        return FakeApprover(answers=[False])


class OpenFakeApproverTests(ApproverContract, SynchronousTestCase):
    """The same, with a user who thinks about it."""

    def approver(self):
        return FakeApprover(answers=[None])


class HastyReactorTests(SynchronousTestCase):
    """The reactor for which time runs faster."""

    def test_it_is_the_reactor(self):
        """Everything except time is the real reactor's."""
        hasty = HastyReactor()
        self.assertTrue(verifyObject(IReactorUNIX, hasty))
        self.assertEqual(hasty.listenUDP, reactor.listenUDP)
