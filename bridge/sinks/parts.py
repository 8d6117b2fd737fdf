"""What sinks are made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from ..classes import frozen
from ..settings.values import Address


@frozen(eq=False, repr=False)
class SinkParts:
    """
    What a sink may use.

    :ivar overlay: The address of ``--overlay-addr``.
    :ivar application: The name of the host application.
    :ivar desktop: The desktop's notifications, an ``INotifications``.
    :ivar desktop_entry: The application's ``.desktop`` file without its ending, or
        empty.
    :ivar icons: A directory for the icons a sink must keep as files; not made yet.
    :ivar thread: Calls in a thread what blocks, or computes for long.
    """

    reactor: Any
    overlay: Address
    application: str
    desktop: Any
    desktop_entry: str
    icons: Path
    thread: Callable[..., Deferred[Any]]
