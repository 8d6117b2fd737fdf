"""Approval by the user, outside the page, before something privileged is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..freedesktop import INotifications
from .approvers import DevApprover, IApprover, denied, unavailable
from .desktop import DesktopApprover
from .prompts import Offer, Operation, Prompt, Prompts, host_of, shown
from .windows import WindowsApprover

__all__ = [
    "DevApprover",
    "IApprover",
    "Offer",
    "Operation",
    "Prompt",
    "Prompts",
    "denied",
    "host_of",
    "native_approver",
    "shown",
    "unavailable",
]


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
