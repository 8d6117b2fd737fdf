"""Tests for ``bridge.approval.windows``, with a double of the system's call."""

import queue
import sys
import threading
from unittest import mock

from twisted.internet import reactor
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.approval.windows import STYLE, WindowsApprover, message_box
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import PROMPT_SECONDS

from ..contracts import PROMPT, ApproverContract
from ..waiting import until

IDYES, IDNO = 6, 7


class Boxes:
    """Message boxes that the test answers."""

    def __init__(self):
        self.shown = []
        self.buttons: queue.Queue[int | None] = queue.Queue()

    def __call__(self, owner, text, title, style):
        self.shown.append((owner, text, title, style))
        button = self.buttons.get(timeout=30)
        if button is None:
            raise OSError("no desktop")
        return button


class WindowsApproverTests(ApproverContract, TestCase):
    def setUp(self):
        """An approver of the real reactor, with boxes of ours."""
        self.boxes = Boxes()
        self.clock = Clock()
        self.asker = WindowsApprover("Sample", reactor, self.clock, self.boxes)
        self.addCleanup(until, lambda: not self.asker._is_standing)
        self.addCleanup(self.boxes.buttons.put, IDNO)

    def approver(self):
        return self.asker

    async def refusal(self, approving):
        error = await self.assertFailure(approving, BridgeError)
        return error.message

    async def test_yes(self):
        """Yes confirms; the box is topmost, warns, and No is its default."""
        approving = self.asker.approve(PROMPT)
        (thread,) = [t for t in threading.enumerate() if t.name == "prompt"]
        # A box that stands keeps no process from ending.
        self.assertTrue(thread.daemon)
        self.boxes.buttons.put(IDYES)
        await approving
        ((owner, text, title, style),) = self.boxes.shown
        self.assertEqual((owner, title), (0, "Sample Bridge"))
        self.assertEqual(text, f"{PROMPT.title}\n\n{PROMPT.text}")
        self.assertEqual(style, STYLE)
        self.assertEqual(style, 0x4 | 0x30 | 0x100 | 0x40000)

    async def test_no(self):
        """Every other button refuses; where no box can be shown, nobody was asked."""
        declined = "denied: the user declined"
        none = "approval_unavailable: no message box can be shown"
        for button, why in (
            *((button, declined) for button in (IDNO, 2, -1)),
            *((button, none) for button in (0, None)),
        ):
            self.boxes.buttons.put(button)
            message = await self.refusal(self.asker.approve(PROMPT))
            self.assertEqual(message, why)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    async def test_no_thread(self):
        """Without room for a thread it is refused, and the next prompt is shown."""
        with mock.patch("threading.Thread.start") as start:
            start.side_effect = RuntimeError("can't start new thread")
            message = await self.refusal(self.asker.approve(PROMPT))
        self.assertIn("no room for another thread", message)
        self.boxes.buttons.put(IDYES)
        await self.asker.approve(PROMPT)

    async def test_other_error(self):
        """An error of any kind ends the question, and is not lost."""
        broken = mock.Mock(side_effect=ValueError)
        approver = WindowsApprover("Sample", reactor, self.clock, broken)
        await self.assertFailure(approver.approve(PROMPT), ValueError)
        self.assertFalse(approver._is_standing)

    async def test_nobody_answers(self):
        """It stays; what is pressed later confirms nothing, and an error is logged."""
        for late, logged in ((IDYES, 0), (None, 1)):
            self.boxes.shown.clear()
            approving = self.asker.approve(PROMPT)
            await until(lambda: self.boxes.shown)
            self.clock.advance(PROMPT_SECONDS)
            self.assertIn("denied: the prompt was not", await self.refusal(approving))
            message = await self.refusal(self.asker.approve(PROMPT))
            self.assertIn("an earlier prompt is still on the screen", message)
            self.boxes.buttons.put(late)
            await until(lambda: not self.asker._is_standing)
            self.assertEqual(len(self.flushLoggedErrors(OSError)), logged)
        self.boxes.buttons.put(IDNO)
        message = await self.refusal(self.asker.approve(PROMPT))
        self.assertEqual(message, "denied: the user declined")


class MessageBoxTests(SynchronousTestCase):
    def test_elsewhere(self):
        """On other systems it reports that it is not available."""
        if sys.platform != "win32":
            self.assertRaises(OSError, message_box, 0, "", "", 0)
