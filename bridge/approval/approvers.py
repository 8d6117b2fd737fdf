"""
Approval by the user before something privileged is done.

::

    DesktopApprover     a notification with buttons       bridge.approval.desktop
    WindowsApprover     a message box                     bridge.approval.windows
    DevApprover         --dev: everything is approved, and announced
"""

from __future__ import annotations

from typing import ClassVar, Final, Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import frozen
from ..freedesktop.messages import DesktopError
from ..freedesktop.notes import Desktop, Note
from ..protocol.errors import BridgeError, Prefix, plugin_error
from .prompts import Prompt, sender

DESKTOP_ENTRY: Final = "plugin-bridge"


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

    _notifications: Desktop
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


def denied(detail: str) -> BridgeError:
    """Return the refusal by the user: ``denied: <detail>``."""
    return plugin_error(Prefix.DENIED, detail)


def unavailable(detail: str) -> BridgeError:
    """Return the error without a prompt: ``approval_unavailable: <detail>``."""
    return plugin_error(Prefix.APPROVAL_UNAVAILABLE, detail)
