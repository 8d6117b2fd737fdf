"""The prompt of a Unix desktop, on a desktop in memory and on a real bus."""

import itertools
import os
from typing import Any

from attrs import evolve
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.approval import Prompts
from bridge.approval.desktop import ANSWERING, DesktopApprover
from bridge.freedesktop import DesktopError, QuestionExpiredError, Urgency
from bridge.freedesktop.messages import BUS, Call
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import PROMPT_SECONDS

from ..contracts import ApproverContract
from ..freedesktop.buses import HastyReactor, SessionBus, join, notifications, serve
from ..pages import Page
from ..waiting import until
from .screens import SERVER, FakeScreen

PROMPT = Prompts("Sample").uninstall("sample", "https://forge.example/a.git")


class InMemoryTests(ApproverContract, SynchronousTestCase):
    """Tests for ``DesktopApprover`` with a desktop in memory."""

    def setUp(self):
        """A desktop, a clock, and random bytes that count."""
        self.screen = FakeScreen()
        self.clock = Clock()
        counter = itertools.count(1)
        self.asker = DesktopApprover(
            self.screen, "Sample", lambda n: next(counter).to_bytes(n), self.clock
        )

    def approver(self):
        """See ``ApproverContract``."""
        return self.asker

    def refusal(self, approving):
        """The message of a refusal."""
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

    def test_attack_prompts_of_a_page_that_has_gone(self):
        """Those that were never shown go with it; the one on the screen stays."""
        page, other = Page(), Page()
        shown = self.asker.approve(PROMPT, page)
        waiting = [self.asker.approve(PROMPT, page) for _ in range(3)]
        last = self.asker.approve(PROMPT, other)
        page.go()
        for gone in waiting:
            self.assertEqual(self.refusal(gone), "who asked for this has gone")
        self.assertNoResult(shown)
        self.assertEqual(len(self.screen.questions), 1)
        _, actions, answer = self.screen.questions[-1]
        answer.callback(actions[0][0])
        self.assertIsNone(self.successResultOf(shown))
        self.assertEqual(len(self.screen.questions), 2)
        _, actions, answer = self.screen.questions[-1]
        answer.callback(actions[0][0])
        self.assertIsNone(self.successResultOf(last))

    def test_how_to_answer(self):
        """Where no button is drawn, the prompt explains how to answer."""
        self.screen.server = evolve(SERVER, name="dunst")
        self.asker.approve(PROMPT).addErrback(lambda _: None)
        ((note, _, answer),) = self.screen.questions
        self.assertEqual(note.body, f"{PROMPT.text}\n{ANSWERING['dunst']}")
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

    def test_deny(self):
        """Deny refuses, and so does closing it."""
        for index, why in (
            (1, "the user declined"),
            (None, "the prompt was dismissed"),
        ):
            approving = self.asker.approve(PROMPT)
            _, actions, answer = self.screen.questions[-1]
            answer.callback(None if index is None else actions[index][0])
            self.assertEqual(self.refusal(approving), f"denied: {why}")

    def test_closed_before_it_is_shown(self):
        """A question that was closed at once is refused at once."""
        self.screen.dismissing = True
        self.assertEqual(
            self.refusal(self.asker.approve(PROMPT)), "denied: the prompt was dismissed"
        )

    def test_expired(self):
        """A prompt that the server takes away by itself was dismissed by nobody."""
        approving = self.asker.approve(PROMPT)
        self.screen.questions[-1][2].errback(QuestionExpiredError("expired"))
        self.assertEqual(
            self.refusal(approving),
            "denied: the prompt expired",
        )

    def test_any_other_key(self):
        """Only the one key confirms."""
        for key in ("default", "confirm", "Confirm", "", "confirm-", "0"):
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

    def test_one_at_a_time(self):
        """Others wait in their order, each with its whole time from when it shows."""
        waiting = [self.asker.approve(PROMPT) for _ in range(3)]
        self.assertEqual(len(self.screen.questions), 1)
        self.clock.advance(PROMPT_SECONDS - 1)
        self.screen.questions[0][2].callback(None)
        self.refusal(waiting[0])
        self.assertEqual(len(self.screen.questions), 2)
        self.clock.advance(PROMPT_SECONDS - 1)
        self.assertNoResult(waiting[1])
        waiting[2].addErrback(lambda failure: failure.trap(CancelledError))
        waiting[2].cancel()
        self.screen.questions[1][2].callback(self.screen.questions[1][1][0][0])
        self.assertIsNone(self.successResultOf(waiting[1]))
        self.assertEqual(len(self.screen.questions), 2)

    def test_withdrawn(self):
        """A cancelled operation takes its prompt from the screen."""
        approving = self.asker.approve(PROMPT)
        approving.cancel()
        self.failureResultOf(approving, CancelledError)
        self.assertEqual(self.screen.withdrawn, 1)
        self.asker.approve(PROMPT)
        self.assertEqual(len(self.screen.questions), 2)

    def test_no_desktop(self):
        """Whatever is wrong with the desktop, the reason is reported."""
        self.screen.failure = "there is no session bus"
        self.assertEqual(
            self.refusal(self.asker.approve(PROMPT)),
            "approval_unavailable: there is no session bus",
        )

    def test_desktop_that_ends(self):
        """A server or a bus that goes away is no denial, but nobody confirmed."""
        approving = self.asker.approve(PROMPT)
        self.screen.questions[0][2].errback(DesktopError("it is gone"))
        self.assertEqual(self.refusal(approving), "approval_unavailable: it is gone")

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


class AttackTests(TestCase):
    """Attacks by other programs on a real session bus: none of them confirms."""

    async def setUp(self):  # type: ignore[override]
        """A bus, a server with buttons, and a prompt on it."""
        self.bus = SessionBus()
        self.addCleanup(self.bus.remove)
        self.desktop = notifications(self.bus)
        self.addCleanup(self.desktop.close)
        self.clock = Clock()
        self.approver = DesktopApprover(self.desktop, "Sample", os.urandom, self.clock)
        self.server = await serve(self, self.bus, "actions")
        self.answers: list[str] = []

    async def prompted(self, number=1):
        """Put a prompt on the screen; gives its two keys."""
        self.approver.approve(PROMPT).addCallbacks(
            lambda _: self.answers.append("confirmed"),
            lambda failure: self.answers.append(failure.value.message),
        )
        await until(lambda: len(self.server.named("Notify")) == number)
        await until(lambda: len(self.desktop._open) == 1)
        actions = self.server.named("Notify")[-1][5]
        return actions[0], actions[2]

    async def refused(self):
        """Put a prompt that is refused at once; gives the error."""
        approving: Any = self.approver.approve(PROMPT)
        return await self.assertFailure(approving, BridgeError)

    async def ends_refused(self, *attackers):
        """See that the attack has not confirmed, and that the prompt then times out."""
        for attacker in attackers:
            await attacker.settled()
        link = await self.desktop._bus.connected()
        await link.call(Call(BUS, "GetId"))
        self.clock.advance(PROMPT_SECONDS)
        self.assertEqual(len(self.answers), 1)
        self.assertRegex(self.answers[0], "^(denied|approval_unavailable): ")

    async def test_confirmed_by_the_server(self):
        """What all these attacks try to be."""
        confirm, _ = await self.prompted()
        self.server.emit("ActionInvoked", 1, confirm)
        await until(lambda: self.answers)
        self.assertEqual(self.answers, ["confirmed"])

    async def test_attack_forged_broadcast(self):
        """Another program that even knows the key broadcasts the signal."""
        confirm, _ = await self.prompted()
        attacker = await join(self, self.bus)
        attacker.emit("ActionInvoked", 1, confirm)
        await self.ends_refused(attacker)

    async def test_attack_forged_unicast(self):
        """Another program that even knows the key sends it to us alone."""
        confirm, _ = await self.prompted()
        attacker = await join(self, self.bus)
        us = (await self.desktop._bus.connected()).busName
        attacker.emit("ActionInvoked", 1, confirm, destination=us)
        await self.ends_refused(attacker)

    async def test_attack_wrong_number(self):
        """The server answers for another note."""
        confirm, _ = await self.prompted()
        self.server.emit("ActionInvoked", 2, confirm)
        await self.ends_refused(self.server)

    async def test_attack_replayed_key(self):
        """The key of an earlier prompt, with the number of this one."""
        confirm, deny = await self.prompted()
        self.server.emit("ActionInvoked", 1, deny)
        await until(lambda: self.answers)
        self.answers.clear()
        await self.prompted(2)
        self.server.emit("ActionInvoked", 2, confirm)
        await self.ends_refused(self.server)

    async def test_attack_unknown_key(self):
        """A key that no button has."""
        await self.prompted()
        self.server.emit("ActionInvoked", 1, "confirm")
        await self.ends_refused(self.server)

    async def test_attack_default_action(self):
        """A click on the body, on servers that call that ``default``."""
        await self.prompted()
        self.server.emit("ActionInvoked", 1, "default")
        await self.ends_refused(self.server)

    async def test_attack_replaced_server(self):
        """Another program takes the server's name, and answers in its place."""
        confirm, _ = await self.prompted()
        attacker = await serve(self, self.bus, "actions")
        attacker.emit("ActionInvoked", 1, confirm)
        await self.ends_refused(attacker)
        self.assertTrue(self.answers[0].startswith("approval_unavailable: "))

    async def test_attack_server_without_buttons(self):
        """A server that shows no buttons is not asked to."""
        await serve(self, self.bus, "body")
        await until(lambda: self.desktop.server is None)
        error = await self.refused()
        self.assertTrue(error.message.startswith("approval_unavailable: "))

    async def test_attack_mute_server(self):
        """A server that never reports whether it shows the prompt."""
        await self.desktop.find()
        self.server.link.methodCallReceived = lambda message: None
        link: Any = await self.desktop._bus.connected()
        link._clock = HastyReactor()
        error = await self.refused()
        self.assertTrue(error.message.startswith("approval_unavailable: "))

    async def test_closed_before_its_id_is_known(self):
        """A server that closes the prompt before it answers has refused it."""
        called = self.server.link.methodCallReceived

        def overtaken(message):
            if message.member == "Notify":
                self.server.emit("NotificationClosed", 1, 2, signature="uu")
            called(message)

        self.server.link.methodCallReceived = overtaken
        error = await self.refused()
        self.assertEqual(error.message, "denied: the prompt was dismissed")

    async def test_attack_unusable_ids(self):
        """An id that no note can have is no prompt on a screen."""
        for answer in (
            ("u", [0]),
            ("i", [-1]),
            ("x", [2**32]),
            ("b", [True]),
            ("s", ["1"]),
            ("", []),
        ):
            self.server.answers["Notify"] = answer
            error = await self.refused()
            self.assertEqual(
                error.message,
                "approval_unavailable: the notification server answers nonsense",
            )

    async def test_server_restarted_between_prompts(self):
        """The next prompt goes to the server of then, and asks what it can do."""
        _, deny = await self.prompted()
        self.server.emit("ActionInvoked", 1, deny)
        await until(lambda: self.answers)
        self.server.link.drop()
        await until(lambda: self.desktop.health == "down")
        self.server = await serve(self, self.bus, "actions")
        self.answers.clear()
        confirm, _ = await self.prompted()
        self.server.emit("ActionInvoked", 1, confirm)
        await until(lambda: self.answers == ["confirmed"])

    async def test_desktop_that_begins_after_the_daemon(self):
        """A bus that was not there is found when somebody has to be asked."""
        self.bus.kill()
        await until(lambda: self.desktop.health == "down")
        error = await self.refused()
        self.assertTrue(error.message.startswith("approval_unavailable: "))
        self.bus.start()
        self.server = await serve(self, self.bus, "actions")
        confirm, _ = await self.prompted()
        self.server.emit("ActionInvoked", 1, confirm)
        await until(lambda: self.answers == ["confirmed"])

    async def test_daemon_that_stops(self):
        """The prompt leaves the screen before the bus is given up."""
        approving = self.approver.approve(PROMPT)
        await until(lambda: len(self.desktop._open) == 1)
        approving.addErrback(lambda _: None)
        approving.cancel()
        await self.desktop.close()
        await until(lambda: self.server.named("CloseNotification") == [[1]])
