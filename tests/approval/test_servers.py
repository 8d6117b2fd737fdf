"""Prompts on real notification servers, answered by real clicks."""

import os

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bridge.approval.approvers import DesktopApprover
from bridge.plugins.tree.manifest import Manifest

from ..freedesktop.buses import notifications
from ..freedesktop.session import Box, Session, notification_server
from ..plugins.operations.bench import asked, candidate_of
from ..waiting import until

# "Weather": what is written from right to left moves nothing around it.
NAME = "\u0627\u0644\u0637\u0642\u0633"
WEATHER = Manifest(
    "weather-panel", NAME, "1.0.0", "^1", permissions=["network"], author="Ren\xe9e"
)
URL = "https://forge.example/some-author/weather-panel.git"
PROMPT = asked("for_trust", candidate_of(URL, WEATHER))


class Answered(TestCase):
    """A session with a notification server, and an approver in it."""

    # What a slow machine needs, not what it takes.
    timeout = 240

    async def setUp(self) -> None:  # type: ignore[override]
        self.session = Session()
        self.addCleanup(self.session.end)
        self.desktop = notifications(self.session.bus)
        self.addCleanup(self.desktop.close)
        self.approver = DesktopApprover(self.desktop, "Sample", os.urandom, reactor)
        self.answers: list[str] = []
        self.session.serve(notification_server(self.name))
        self.desktop.start()
        await until(lambda: self.desktop.health == "up")
        self.empty = self.session.picture()

    async def prompted(self) -> Box:
        """Put the prompt on the screen; gives where it is."""
        # The prompt before may still be closing; the next one would look the same.
        await until(lambda: self.session.picture() == self.empty)
        approving = self.approver.approve(PROMPT)
        approving.addCallbacks(
            lambda _: self.answers.append("confirmed"),
            lambda failure: self.answers.append(failure.value.message),
        )
        await until(lambda: self.desktop._open)
        box = self.session.settled(self.empty).changed(self.empty)
        self.session.save(f"prompt-{self.name}.png")
        return box

    async def answer(self) -> str:
        await until(lambda: self.answers)
        return self.answers.pop()

    async def confirms_and_denies(self) -> None:
        """Press Confirm of one prompt and Deny of the next."""
        box = await self.prompted()
        # The same prompt looks the same each time, and looking takes seconds.
        confirm, deny = self.session.buttons(box)
        self.session.click(*confirm.middle)
        self.assertEqual(await self.answer(), "confirmed")
        await self.prompted()
        self.session.click(*deny.middle)
        self.assertEqual(await self.answer(), "denied: the user declined")

    async def is_dismissed_by_a_click(self) -> None:
        box = await self.prompted()
        self.session.click(box.left + 100, box.top + 30)
        self.assertEqual(await self.answer(), "denied: the prompt was dismissed")


class NotificationDaemonTests(Answered):
    name = "notification-daemon"

    async def test_buttons(self):
        """Confirm confirms, Deny denies."""
        await self.confirms_and_denies()

    async def test_otherwise(self):
        """Closing it denies, and so does a click on the text, a ``default`` action."""
        box = await self.prompted()
        corner = Box(box.right - 60, box.top, box.right, box.top + 60)
        (close,) = self.session.buttons(corner)
        self.session.click(*close.middle)
        self.assertEqual(await self.answer(), "denied: the prompt was dismissed")
        box = await self.prompted()
        self.session.click(box.left + 100, box.top + 30)
        self.assertTrue((await self.answer()).startswith("denied: "))


class XfceTests(Answered):
    name = "xfce4-notifyd"

    async def test_buttons(self):
        """Confirm confirms, Deny denies, and a click on the text dismisses."""
        await self.confirms_and_denies()
        await self.is_dismissed_by_a_click()


class DunstTests(Answered):
    """Tests with dunst; tests/e2e choose from its menu."""

    name = "dunst"

    async def test_left_click(self):
        """It refuses."""
        await self.is_dismissed_by_a_click()
