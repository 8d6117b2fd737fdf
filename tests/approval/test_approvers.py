"""Tests for ``bridge.approval`` and ``bridge.approval.approvers``, and for a double."""

import sys

from twisted.internet.defer import fail
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.approvers import DevApprover
from bridge.approval.desktop import DesktopApprover
from bridge.approval.native import native_approver
from bridge.approval.prompts import Prompts
from bridge.approval.windows import WindowsApprover
from bridge.freedesktop.notes import Note

from ..contracts import ApproverContract
from ..plugins.operations.bench import FakeApprover
from .screens import FakeScreen

PROMPT = Prompts("Sample Host").uninstall("ab", "https://forge.example/plugin.git")


class NativeApproverTests(SynchronousTestCase):
    def test_each_platform_has_its_own(self):
        """A message box on Windows, and elsewhere a desktop, if there is one."""
        for platform, kind in (
            ("linux", DesktopApprover),
            ("win32", WindowsApprover),
        ):
            self.patch(sys, "platform", platform)
            made = native_approver(Clock(), FakeScreen(), "Sample")
            self.assertIsInstance(made, kind)


class DevApproverTests(ApproverContract, SynchronousTestCase):
    def setUp(self):
        self.screen = FakeScreen()

    def approver(self):
        return DevApprover(self.screen, "Sample")

    def test_it_approves_and_announces(self):
        """All is approved at once; a note names it that has no buttons, and expires."""
        self.assertIsNone(self.successResultOf(self.approver().approve(PROMPT)))
        (note,) = self.screen.notes
        self.assertEqual(
            note,
            Note(
                "Sample Bridge",
                "--dev: uninstall without asking",
                f"{PROMPT.title}\n{PROMPT.body}\n{PROMPT.details}",
                icon="dialog-information",
                desktop_entry="plugin-bridge",
                expire_ms=-1,
            ),
        )

    def test_no_announcement(self):
        """A desktop that shows nothing does not keep a developer from working."""
        self.screen.failure = "no bus"
        self.assertIsNone(self.successResultOf(self.approver().approve(PROMPT)))
        self.assertEqual(self.flushLoggedErrors(), [])
        self.patch(self.screen, "show", lambda note: fail(ZeroDivisionError()))
        self.assertIsNone(self.successResultOf(self.approver().approve(PROMPT)))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class FakeApproverTests(ApproverContract, SynchronousTestCase):
    """The approver that answers at once."""

    def approver(self):
        return FakeApprover(answers=[False])


class OpenFakeApproverTests(ApproverContract, SynchronousTestCase):
    """The same, with a user who thinks about it."""

    def approver(self):
        return FakeApprover(answers=[None])
