"""The prompt of each system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from ..freedesktop import INotifications, Note
from .approvers import IApprover, RefusingApprover
from .desktop import DESKTOP_ENTRY, DesktopApprover
from .prompts import sender
from .windows import WindowsApprover


def native_approver(
    platform: str,
    reactor: Any,
    notifications: INotifications,
    application: str,
    random: Callable[[int], bytes],
) -> IApprover:
    """
    Return the approver of a system.

    :param platform: As ``sys.platform``.
    :param application: What users know the host application by.
    """
    if platform == "win32":
        return WindowsApprover(application, reactor, reactor)
    if platform == "darwin":
        return RefusingApprover("plugin-bridge knows no prompt of this system")
    return DesktopApprover(notifications, application, random, reactor)


def announcer(
    notifications: INotifications, application: str
) -> Callable[[str, str], Deferred[None]]:
    """Return a function that shows a plain notification, which expires by itself."""

    def announce(title: str, body: str) -> Deferred[None]:
        return notifications.show(
            Note(
                sender(application),
                title,
                body,
                icon="dialog-information",
                desktop_entry=DESKTOP_ENTRY,
            )
        )

    return announce
