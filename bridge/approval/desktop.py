"""
The prompt of a Unix desktop: a notification with the buttons Confirm and Deny.

Any program on the session bus can claim that a button was pressed;
``bridge.freedesktop`` checks the sender.  Each prompt's buttons get unguessable keys,
so neither an earlier prompt's answer nor a server's default action confirms anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ..classes import define
from ..freedesktop.messages import DesktopError
from ..freedesktop.notes import (
    NEVER_MS,
    Desktop,
    Note,
    QuestionExpiredError,
    Urgency,
)
from ..protocol.limits import PROMPT_SECONDS
from .approvers import DESKTOP_ENTRY, denied, unavailable
from .prompts import Prompt, sender, shown

_KEY_BYTES: Final = 16

ANSWERING: Final = {
    "dunst": "Middle-click to answer",
    "mako": "Answer with: makoctl menu",
}
"""How to answer on servers that draw no buttons, by the name they give."""


@define(eq=False, repr=False)
class DesktopApprover:
    """
    Asks by a notification.

    A server is looked for at each prompt, so a desktop session that begins after the
    daemon is as good as one that was there before.

    :ivar application: What users know the host application by.
    :ivar random: Returns that many random bytes, as ``os.urandom`` does.
    """

    _notifications: Desktop
    _application: str
    _random: Callable[[int], bytes]
    _clock: IReactorTime

    @property
    def description(self) -> str:
        """See ``Approver``; it is true of now."""
        server = self._notifications.server
        if self._notifications.health != "up":
            if self._notifications.is_expected:
                return "desktop notification; its server is looked for at each prompt"
            return (
                "none: privileged operations will be refused until a notification "
                "server answers"
            )
        if server is None:
            return "desktop notification with the buttons Confirm and Deny"
        name = shown(f"{server.name} {server.version}")
        if "actions" not in server.capabilities:
            return (
                f"none: privileged operations will be refused, since {name} shows no "
                "buttons"
            )
        return f"desktop notification with the buttons Confirm and Deny, by {name}"

    def approve(self, prompt: Prompt) -> Deferred[None]:
        return Deferred.fromCoroutine(self._ask(prompt))

    async def _ask(self, prompt: Prompt) -> None:
        confirm, deny = self._key("confirm"), self._key("deny")
        note = Note(
            sender(self._application),
            prompt.title,
            await self._text(prompt),
            icon="dialog-warning",
            urgency=Urgency.CRITICAL,
            desktop_entry=DESKTOP_ENTRY,
            expire_ms=NEVER_MS,
        )
        buttons = ((confirm, "Confirm"), (deny, "Deny"))
        try:
            asked = self._notifications.ask(note, buttons)
            choice = await asked.addTimeout(PROMPT_SECONDS, self._clock)
        except QuestionExpiredError:
            raise denied("the prompt expired") from None
        except DesktopError as e:
            raise unavailable(str(e)) from None
        except defer.TimeoutError:
            raise denied("the prompt was not answered in time") from None
        if choice is None:
            raise denied("the prompt was dismissed")
        if choice == deny:
            raise denied("the user declined")
        if choice != confirm:
            raise denied("the prompt was answered with something else")

    async def _text(self, prompt: Prompt) -> str:
        """How to answer without buttons, and the text, whose end may be cut."""
        try:
            server = await self._notifications.find()
        except DesktopError as e:
            raise unavailable(str(e)) from None
        how = ANSWERING.get(server.name.lower())
        return prompt.text if how is None else f"{how}\n{prompt.text}"

    def _key(self, name: str) -> str:
        return f"{name}-{self._random(_KEY_BYTES).hex()}"
