"""The approver of the system that the daemon runs on."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..freedesktop.notes import Desktop
from .approvers import Approver
from .desktop import DesktopApprover
from .windows import WindowsApprover


def native_approver(reactor: Any, notifications: Desktop, application: str) -> Approver:
    """
    Return the approver of this system; without a desktop it refuses, and says so.

    :param application: What users know the host application by.
    """
    if sys.platform == "win32":
        return WindowsApprover(application, reactor, reactor)
    return DesktopApprover(notifications, application, os.urandom, reactor)
