"""
The user's desktop, reached over the session bus.

::

    messages        what goes over it
    connection      one connection, by txdbus
    bus             where the bus is, and the connection, made again when it is lost
    notes           what users of notifications need to know
    notifications   the client of ``org.freedesktop.Notifications``

Users need ``INotifications`` and ``Note``.
"""

from __future__ import annotations

from .messages import DesktopError
from .notes import INotifications, Note, QuestionExpiredError, Server, Urgency
from .notifications import Notifications

__all__ = [
    "DesktopError",
    "INotifications",
    "Note",
    "Notifications",
    "QuestionExpiredError",
    "Server",
    "Urgency",
]
