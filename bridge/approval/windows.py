"""
The prompt of Windows: a message box, Yes or No, with No as its default.

The box is not given the keyboard's focus: a ``y`` that was typed for another window
must not confirm.  Windows has no documented way to take a message box back.  One that
was not answered in time, or whose operation ended, stays, and its answer means nothing;
while it stays, no other is shown, and whatever asks is refused.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Final

from attrs import field
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define
from ..concurrency.threads import NO_THREAD
from ..protocol.limits import PROMPT_SECONDS
from .prompts import Prompt, denied, sender, unavailable

# https://learn.microsoft.com/en-us/windows/win32/api/winuser/nf-winuser-messageboxw
MB_YESNO: Final = 0x4
MB_ICONWARNING: Final = 0x30
MB_DEFBUTTON2: Final = 0x100
MB_TOPMOST: Final = 0x40000
STYLE: Final = MB_YESNO | MB_ICONWARNING | MB_DEFBUTTON2 | MB_TOPMOST
IDYES: Final = 6

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
    Asks by a message box.

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
