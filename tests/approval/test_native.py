"""Tests for ``bridge.approval.native``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Prompts, RefusingApprover, announcer, native_approver
from bridge.approval.desktop import DesktopApprover
from bridge.approval.windows import WindowsApprover
from bridge.freedesktop import Note
from bridge.protocol.errors import BridgeError

from .screens import FakeScreen


def of(platform):
    """The approver of a platform."""
    return native_approver(platform, Clock(), FakeScreen(), "Sample", bytes)


class NativeApproverTests(SynchronousTestCase):
    """Tests for ``native_approver``."""

    def test_each_platform_has_its_own(self):
        """Where there is a way to ask, it is used."""
        self.assertIsInstance(of("linux"), DesktopApprover)
        self.assertIsInstance(of("freebsd14"), DesktopApprover)
        self.assertIsInstance(of("win32"), WindowsApprover)

    def test_other_platforms_report_it(self):
        """Where there is none, everything is refused, and the banner reports it."""
        approver = of("darwin")
        self.assertIsInstance(approver, RefusingApprover)
        self.assertTrue(approver.description.startswith("none"))
        approving = approver.approve(Prompts("Sample").forget_key("k", "l"))
        self.failureResultOf(approving, BridgeError)


class AnnouncerTests(SynchronousTestCase):
    """Tests for ``announcer``."""

    def test_plain_note_that_goes_away(self):
        """It has no buttons, and the server's own time on the screen."""
        screen = FakeScreen()
        announcer(screen, "Sample")("Title", "Body")
        (note,) = screen.notes
        self.assertEqual(
            note,
            Note(
                "Sample Bridge",
                "Title",
                "Body",
                icon="dialog-information",
                desktop_entry="plugin-bridge",
                expire_ms=-1,
            ),
        )
