"""The double for approvers, by the contract of the real ones."""

from twisted.trial.unittest import SynchronousTestCase

from .contracts import ApproverContract
from .plugins.operations.bench import FakeApprover


class FakeApproverTests(ApproverContract, SynchronousTestCase):
    """The approver that answers at once."""

    def approver(self):
        return FakeApprover(answers=[False])


class OpenFakeApproverTests(ApproverContract, SynchronousTestCase):
    """The same, with a user who thinks about it."""

    def approver(self):
        return FakeApprover(answers=[None])
