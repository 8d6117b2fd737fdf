"""
Approval by the user before something privileged is done.

::

    DesktopApprover     a notification with buttons, on a Unix desktop
    WindowsApprover     a message box
    DevApprover         --dev: everything is approved, and announced
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Final, Protocol

from attrs import field
from twisted.internet import defer
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define, frozen
from ..concurrency.threads import NO_THREAD
from ..freedesktop.connection import DesktopError
from ..freedesktop.notifications import (
    NEVER_MS,
    Note,
    Notifications,
    QuestionExpiredError,
    Urgency,
)
from ..protocol.limits import PROMPT_SECONDS
from .prompts import DESKTOP_ENTRY, Prompt, denied, sender, shown, unavailable

_KEY_BYTES: Final = 16

ANSWERING: Final = {
    "dunst": "Middle-click to answer",
    "mako": "Answer with: makoctl menu",
}
"""How to answer on servers that draw no buttons, by the name they give."""


# https://learn.microsoft.com/en-us/windows/win32/api/winuser/nf-winuser-messageboxw
MB_YESNO: Final = 0x4
MB_ICONWARNING: Final = 0x30
MB_DEFBUTTON2: Final = 0x100
MB_TOPMOST: Final = 0x40000
STYLE: Final = MB_YESNO | MB_ICONWARNING | MB_DEFBUTTON2 | MB_TOPMOST
IDYES: Final = 6


class Approver(Protocol):
    """Asks the user where no page can answer."""

    @property
    def description(self) -> str:
        """
        Describe it in one line, for the banner and ``describe``.

        :return: Starts with ``none`` when no question is really asked.
        """

    def approve(self, prompt: Prompt) -> Deferred[None]:
        """
        Ask; no other question of ours is open.

        :return: Fires when the user confirmed.  Fails with ``BridgeError``:
            ``denied`` when the user did not, ``approval_unavailable`` when asking
            was not possible.  Cancelling it withdraws the question.
        """


@frozen
class DevApprover:
    """
    Approves everything at once, and shows a notification, which expires by itself.

    :ivar application: What users know the host application by.
    """

    _notifications: Notifications
    _application: str
    description: str = (
        "none: --dev approves every privileged operation and only notifies"
    )

    _log: ClassVar[Logger] = Logger()

    def approve(self, prompt: Prompt) -> Deferred[None]:
        self._log.warn(
            "--dev: {operation} is approved without asking", operation=prompt.operation
        )
        note = Note(
            sender(self._application),
            f"--dev: {prompt.operation} without asking",
            f"{prompt.title}\n{prompt.body}\n{prompt.details}".rstrip("\n"),
            icon="dialog-information",
            desktop_entry=DESKTOP_ENTRY,
        )
        self._notifications.show(note).addErrback(self._not_announced)
        return succeed(None)

    def _not_announced(self, failure: Failure) -> None:
        if failure.check(DesktopError):
            why = failure.getErrorMessage()
            self._log.info("that was announced nowhere: {why}", why=why)
        else:
            self._log.failure("the announcement could not be shown", failure)


@define(eq=False, repr=False)
class DesktopApprover:
    """
    Asks by a notification with the buttons Confirm and Deny.

    Any program on the session bus can claim that a button was pressed;
    ``bridge.freedesktop`` checks the sender.  Each prompt's buttons get unguessable
    keys, so neither an earlier prompt's answer nor a server's default action confirms
    anything.

    A server is looked for at each prompt, so a desktop session that begins after the
    daemon is as good as one that was there before.

    :ivar application: What users know the host application by.
    :ivar random: Returns that many random bytes, as ``os.urandom`` does.
    """

    _notifications: Notifications
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


MessageBox = Callable[[int, str, str, int], int]
"""Owner, text, title, style; returns the button, or 0 when there was no box."""


def message_box(owner: int, text: str, title: str, style: int) -> int:
    """
    Show a message box, and wait until it is answered: ``MessageBoxW``.

    :raise OSError: This is not Windows.
    """
    if sys.platform == "win32":  # pragma: no cover
        import ctypes

        answer: int = ctypes.windll.user32.MessageBoxW(owner, text, title, style)
        return answer
    raise OSError("there are no message boxes on this system")


@define(eq=False, repr=False)
class WindowsApprover:
    """
    Asks by a message box, Yes or No, with No as its default.

    The box is not given the keyboard's focus: a ``y`` that was typed for another window
    must not confirm.  Windows has no documented way to take a message box back.  One
    that was not answered in time, or whose operation ended, stays, and its answer means
    nothing; while it stays, no other is shown, and whatever asks is refused.

    :ivar application: What users know the host application by.
    :ivar box: Shows the box; called in a thread that does not outlive the daemon.
    """

    _application: str
    _reactor: Any
    _clock: IReactorTime
    _box: MessageBox = message_box
    _is_standing: bool = field(default=False, init=False)
    description: str = field(default="message box, Yes or No", init=False)

    _log: ClassVar[Logger] = Logger()

    def approve(self, prompt: Prompt) -> Deferred[None]:
        return Deferred.fromCoroutine(self._ask(prompt))

    async def _ask(self, prompt: Prompt) -> None:
        if self._is_standing:
            raise unavailable("an earlier prompt is still on the screen")
        try:
            button = await self._shown(prompt).addTimeout(PROMPT_SECONDS, self._clock)
        except defer.TimeoutError:
            raise denied("the prompt was not answered in time") from None
        except OSError:
            self._log.failure("no message box could be shown")
            button = 0
        if button == 0:
            raise unavailable("no message box can be shown")
        if button != IDYES:
            raise denied("the user declined")

    def _shown(self, prompt: Prompt) -> Deferred[int]:
        answer: Deferred[int] = Deferred()
        title = sender(self._application)
        text = f"{prompt.title}\n\n{prompt.text}"

        def closed(result: int | Failure) -> None:
            self._is_standing = False
            if answer.called and isinstance(result, Failure):
                self._log.failure("a message box failed after its time", result)
            answer.callback(result)

        def show() -> None:
            result: int | Failure
            try:
                result = self._box(0, text, title, STYLE)
            except Exception:  # noqa: BLE001 (no other code would see it)
                result = Failure()
            self._reactor.callFromThread(closed, result)

        # Not a pool's: stopping a pool waits for its threads, and the user may be away.
        asking = threading.Thread(target=show, name="prompt", daemon=True)
        try:
            asking.start()
        except RuntimeError:
            raise unavailable(NO_THREAD) from None
        # Its end comes by the reactor, so never before this.
        self._is_standing = True
        return answer


def native_approver(
    reactor: Any, notifications: Notifications, application: str
) -> Approver:
    """
    Return the approver of this system; without a desktop it refuses, and says so.

    :param application: What users know the host application by.
    """
    if sys.platform == "win32":
        return WindowsApprover(application, reactor, reactor)
    return DesktopApprover(notifications, application, os.urandom, reactor)
