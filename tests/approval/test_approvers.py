"""Tests for ``bridge.approval.approvers``, on a desktop in memory, and for a double."""

import itertools
import queue
import sys
import threading
from unittest import mock

from attrs import evolve
from twisted.internet import reactor
from twisted.internet.defer import fail
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.approval.approvers import (
    ANSWERING,
    STYLE,
    DesktopApprover,
    DevApprover,
    WindowsApprover,
    message_box,
    native_approver,
)
from bridge.freedesktop.connection import DesktopError
from bridge.freedesktop.notifications import Note, QuestionExpiredError, Urgency
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import PROMPT_SECONDS

from ..contracts import PROMPT, ApproverContract
from ..plugins.operations.bench import FakeApprover
from ..waiting import until
from .screens import SERVER, FakeScreen

IDYES, IDNO = 6, 7


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


class DesktopApproverTests(ApproverContract, SynchronousTestCase):
    def setUp(self):
        self.screen = FakeScreen()
        self.clock = Clock()
        counter = itertools.count(1)
        self.asker = DesktopApprover(
            self.screen, "Sample", lambda n: next(counter).to_bytes(n), self.clock
        )

    def approver(self):
        return self.asker

    def refusal(self, approving):
        return self.failureResultOf(approving, BridgeError).value.message

    def test_note(self):
        """It shows the prompt, at the highest urgency, until it is answered."""
        approving = self.asker.approve(PROMPT)
        ((note, actions, answer),) = self.screen.questions
        self.assertEqual(note.application, "Sample Bridge")
        self.assertEqual((note.summary, note.body), (PROMPT.title, PROMPT.text))
        self.assertEqual((note.urgency, note.expire_ms), (Urgency.CRITICAL, 0))
        self.assertEqual(note.desktop_entry, "plugin-bridge")
        self.assertEqual([label for _, label in actions], ["Confirm", "Deny"])
        answer.callback(actions[0][0])
        self.assertIsNone(self.successResultOf(approving))

    def test_how_to_answer(self):
        """Where no button is drawn, the prompt explains how to answer."""
        self.screen.server = evolve(SERVER, name="dunst")
        self.asker.approve(PROMPT).addErrback(lambda _: None)
        ((note, _, answer),) = self.screen.questions
        self.assertEqual(note.body, f"{ANSWERING['dunst']}\n{PROMPT.text}")
        answer.callback(None)

    def test_keys_are_random(self):
        """Each button of each prompt has 128 random bits in its key."""
        keys = []
        for _ in range(2):
            self.asker.approve(PROMPT).addErrback(lambda _: None)
            keys += [key for key, _ in self.screen.questions[-1][1]]
            self.screen.questions[-1][2].callback(None)
        self.assertEqual(len(set(keys)), 4)
        self.assertEqual(keys[0], f"confirm-{1:032x}")
        self.assertEqual(keys[3], f"deny-{4:032x}")
        self.assertFalse({"default", "confirm", "deny"} & set(keys))

    def test_refused(self):
        """Deny refuses, and so does all that ends a prompt otherwise."""
        for answered, why in (
            ("deny", "denied: the user declined"),
            (None, "denied: the prompt was dismissed"),
            (QuestionExpiredError("x"), "denied: the prompt expired"),
            (DesktopError("it is gone"), "approval_unavailable: it is gone"),
        ):
            approving = self.asker.approve(PROMPT)
            _, actions, answer = self.screen.questions[-1]
            given = actions[1][0] if answered == "deny" else answered
            answer.callback(Failure(given) if isinstance(given, Exception) else given)
            self.assertEqual(self.refusal(approving), why)
        self.screen.failure = "there is no session bus"
        self.assertEqual(
            self.refusal(self.asker.approve(PROMPT)),
            "approval_unavailable: there is no session bus",
        )

    def test_attack_any_other_key(self):
        """Only the one key confirms: no click on the body, and no earlier prompt's."""
        self.test_note()
        earlier = self.screen.questions[0][1][0][0]
        for key in (earlier, "default", "confirm", "Confirm", "", "confirm-", "0"):
            approving = self.asker.approve(PROMPT)
            self.screen.questions[-1][2].callback(key)
            self.assertTrue(self.refusal(approving).startswith("denied: "), key)

    def test_silence(self):
        """Nobody answers: it is refused, and taken from the screen."""
        approving = self.asker.approve(PROMPT)
        self.clock.advance(PROMPT_SECONDS - 1)
        self.assertNoResult(approving)
        self.clock.advance(1)
        self.assertEqual(
            self.refusal(approving), "denied: the prompt was not answered in time"
        )
        self.assertEqual(self.screen.withdrawn, 1)

    def test_description(self):
        """It describes the desktop as it is now: ``none`` when nobody can ask."""
        self.assertEqual(
            self.asker.description,
            "desktop notification with the buttons Confirm and Deny, by Sample 1.0",
        )
        self.screen.server = evolve(SERVER, capabilities=frozenset(), name="a<b\n")
        self.assertEqual(
            self.asker.description,
            "none: privileged operations will be refused, since a?b 1.0 shows no "
            "buttons",
        )
        self.screen.is_known = False
        self.assertTrue(self.asker.description.startswith("desktop notification"))
        self.screen.failure = "x"
        self.assertEqual(
            self.asker.description,
            "none: privileged operations will be refused until a notification server "
            "answers",
        )
        # No page learns that nothing can be confirmed before that is known.
        self.screen.is_expected = True
        self.assertEqual(
            self.asker.description,
            "desktop notification; its server is looked for at each prompt",
        )


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


class FakeApproverTests(ApproverContract, SynchronousTestCase):
    """The approver that answers at once."""

    def approver(self):
        return FakeApprover(answers=[False])


class OpenFakeApproverTests(ApproverContract, SynchronousTestCase):
    """The same, with a user who thinks about it."""

    def approver(self):
        return FakeApprover(answers=[None])
