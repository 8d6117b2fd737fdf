"""Tests for ``bridge.approval.approvers``."""

from twisted.internet.defer import fail
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import DevApprover, Prompts, RefusingApprover, denied
from bridge.freedesktop import DesktopError
from bridge.protocol.errors import BridgeError

from ..contracts import ApproverContract

URL = "https://forge.example:8443/author/plugin.git"
PROMPTS = Prompts("Sample Host")


class NobodyApproverTests(ApproverContract, SynchronousTestCase):
    """Tests for ``RefusingApprover``."""

    def approver(self):
        """See ``ApproverContract``."""
        return RefusingApprover()

    def test_it_refuses(self):
        """Everything is refused, and the reason is reported."""
        error = self.failureResultOf(
            RefusingApprover("no session bus").approve(PROMPTS.uninstall("ab", URL)),
            BridgeError,
        ).value
        self.assertEqual(error.message, "approval_unavailable: no session bus")

    def test_banner_notes_that_all_is_refused(self):
        """Its description starts with ``none``, which the banner warns of."""
        self.assertEqual(
            self.approver().description, "none: privileged operations will be refused"
        )


class DevApproverTests(ApproverContract, SynchronousTestCase):
    """Tests for ``DevApprover``."""

    def approver(self):
        """See ``ApproverContract``."""
        return DevApprover(lambda title, body: None)

    def test_it_approves_and_announces(self):
        """Everything is approved at once, and a notification names it."""
        printed = []
        approver = DevApprover(lambda title, body: printed.append((title, body)))
        prompt = PROMPTS.uninstall("ab", URL)
        self.assertIsNone(self.successResultOf(approver.approve(prompt)))
        self.assertEqual(
            printed,
            [("--dev: uninstall without asking", f"{prompt.title}\n{prompt.body}")],
        )

    def test_failed_announcement_is_only_logged(self):
        """A desktop that shows nothing does not keep a developer from working."""

        def broken(title, body):
            raise OSError("no bus")

        approving = DevApprover(broken).approve(PROMPTS.uninstall("ab", URL))
        self.assertIsNone(self.successResultOf(approving))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_desktop_that_is_not_there(self):
        """A missing desktop is reported in one line."""
        approver = DevApprover(lambda title, body: fail(DesktopError("no bus")))
        approving = approver.approve(PROMPTS.uninstall("ab", URL))
        self.assertIsNone(self.successResultOf(approving))
        self.assertEqual(self.flushLoggedErrors(), [])


class DeniedTests(SynchronousTestCase):
    """Tests for ``denied``."""

    def test_prefix(self):
        """The message starts with what the page looks for."""
        self.assertEqual(denied("declined").message, "denied: declined")
