"""The prompt of a Unix desktop, on a desktop in memory and on a real bus."""

import itertools

from attrs import evolve
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval.desktop import ANSWERING, DesktopApprover
from bridge.approval.prompts import Prompts
from bridge.freedesktop.messages import DesktopError
from bridge.freedesktop.notes import QuestionExpiredError, Urgency
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import PROMPT_SECONDS

from ..contracts import ApproverContract
from .screens import SERVER, FakeScreen

PROMPT = Prompts("Sample").uninstall("sample", "https://forge.example/a.git")


class InMemoryTests(ApproverContract, SynchronousTestCase):
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
