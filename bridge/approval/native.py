"""The approver of the system that the daemon runs on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..freedesktop.notes import INotifications
from .approvers import IApprover
from .desktop import DesktopApprover
from .windows import WindowsApprover


def native_approver(
    platform: str,
    reactor: Any,
    notifications: INotifications,
    application: str,
    random: Callable[[int], bytes],
) -> IApprover:
    """
    Return the approver of a system; without a desktop it refuses, and says so.

    :param platform: As ``sys.platform``.
    :param application: What users know the host application by.
    """
    if platform == "win32":
        return WindowsApprover(application, reactor, reactor)
    return DesktopApprover(notifications, application, random, reactor)
