"""Prompts on real notification servers, answered by real clicks."""

from __future__ import annotations

import os
import subprocess
from typing import Any, ClassVar

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bridge.approval import Offer, Prompts
from bridge.approval.desktop import DesktopApprover

from ..freedesktop.buses import notifications
from ..freedesktop.session import Box, Session, notification_server
from ..programs import program
from ..waiting import until
from .gains import gains_of

PROMPT = Prompts("Sample").trust_key(
    "https://forge.example/some-author/weather-panel.git",
    "1bc6-e13e-c44c-3bd0-f5a8-5618-8b9b-919c",
    Offer(
        "weather-panel",
        # "Weather": what is written from right to left moves nothing around it.
        "\u0627\u0644\u0637\u0642\u0633",
        "1.0.0",
        "Ren\xe9e",
        gains_of(["network", "sql"], ["native"], [], [], []),
    ),
)


class Answered(TestCase):
    """A session with a notification server, and an approver in it."""

    # What a slow machine needs, not what it takes.
    timeout = 240

    def command(self) -> list[str]:
        """The server's command line."""
        raise NotImplementedError

    async def setUp(self) -> None:  # type: ignore[override]
        """See above."""
        self.session = Session()
        self.addCleanup(self.session.end)
        self.desktop = notifications(self.session.bus)
        self.addCleanup(self.desktop.close)
        self.approver = DesktopApprover(self.desktop, "Sample", os.urandom, reactor)
        self.answers: list[str] = []
        await self.serve()

    async def serve(self) -> None:
        """Start the server, and wait until it is there."""
        self.server = self.session.serve(*self.command())
        self.desktop.start()
        await until(lambda: self.desktop.health == "up")

    async def prompted(self) -> Box:
        """Put the prompt on the screen; gives where it is."""
        before = self.session.picture()
        approving: Any = self.approver.approve(PROMPT)
        approving.addCallbacks(
            lambda _: self.answers.append("confirmed"),
            lambda failure: self.answers.append(failure.value.message),
        )
        await until(lambda: self.desktop._open)
        box = self.session.settled(before).changed(before)
        assert box is not None
        return box

    async def answer(self) -> str:
        """Wait for the approver's answer."""
        await until(lambda: self.answers)
        return self.answers.pop()


class Buttons(Answered):
    """A server that draws buttons."""

    name: ClassVar[str]
    found: ClassVar[dict[str, list[Box]]] = {}

    async def pressed(self, button: int) -> str:
        """Press a button of the prompt, counted from the left; gives the answer."""
        box = await self.prompted()
        # The same prompt looks the same each time, and looking takes seconds.
        if self.name not in self.found:
            self.session.save(f"prompt-{self.name}.png")
            self.found[self.name] = self.session.buttons(box.half("lower"))
        buttons = self.found[self.name]
        self.assertEqual(len(buttons), 2, buttons)
        self.session.click(*buttons[button].middle)
        return await self.answer()

    async def confirms_and_denies(self) -> None:
        """Press Confirm of one prompt and Deny of the next."""
        self.assertEqual(await self.pressed(0), "confirmed")
        self.assertEqual(await self.pressed(1), "denied: the user declined")


class NotificationDaemonTests(Buttons):
    """Tests with notification-daemon."""

    name = "notification-daemon"

    def command(self) -> list[str]:
        """See ``Answered``."""
        return [notification_server("notification-daemon")]

    async def test_buttons(self):
        """Confirm confirms, Deny denies."""
        await self.confirms_and_denies()

    async def test_close_button(self):
        """Closing it denies."""
        box = await self.prompted()
        corner = Box(box.right - 60, box.top, box.right, box.top + 60)
        (close,) = self.session.buttons(corner)
        self.session.click(*close.middle)
        self.assertEqual(await self.answer(), "denied: the prompt was dismissed")

    async def test_click_on_the_text(self):
        """The server calls that a ``default`` action, unasked; it denies."""
        box = await self.prompted()
        self.session.click(box.left + 100, box.top + 30)
        self.assertTrue((await self.answer()).startswith("denied: "))


class XfceTests(Buttons):
    """Tests with xfce4-notifyd."""

    name = "xfce4-notifyd"

    def command(self) -> list[str]:
        """See ``Answered``."""
        return [notification_server("xfce4-notifyd")]

    async def test_buttons(self):
        """Confirm confirms, Deny denies."""
        await self.confirms_and_denies()

    async def test_click_on_the_text(self):
        """It dismisses the prompt."""
        box = await self.prompted()
        self.session.click(box.left + 100, box.top + 30)
        self.assertEqual(await self.answer(), "denied: the prompt was dismissed")


class DunstTests(Answered):
    """Tests with dunst, which draws no buttons but opens a menu."""

    def command(self) -> list[str]:
        """See ``Answered``."""
        menu = self.session.home / "menu"
        menu.write_text("#!/bin/sh\nexec grep -m1 Confirm\n")
        menu.chmod(0o755)
        config = self.session.home / "dunstrc"
        config.write_text(f"[global]\ndmenu = {menu}\nheight = 400\n")
        return [program("dunst", "dunst"), "-conf", str(config)]

    def dunstctl(self, *arguments: str) -> None:
        """Control dunst as the README describes."""
        done = subprocess.run(
            [program("dunstctl", "dunst"), *arguments],
            env=self.session.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    async def test_menu(self):
        """Confirm chosen in the menu confirms."""
        await self.prompted()
        self.session.save("prompt-dunst.png")
        self.dunstctl("context")
        self.assertEqual(await self.answer(), "confirmed")

    async def test_close(self):
        """Closing denies."""
        await self.prompted()
        self.dunstctl("close")
        self.assertEqual(await self.answer(), "denied: the prompt was dismissed")

    async def test_left_click(self):
        """So does dunst's left click."""
        box = await self.prompted()
        self.session.click(*box.middle)
        self.assertEqual(await self.answer(), "denied: the prompt was dismissed")
