"""Twisted's reactor, as the daemon and the commands run it."""

from __future__ import annotations

import time
from typing import Any


def steady_reactor() -> Any:
    """
    Return the reactor, with delays that do not follow the time of day.

    Twisted measures them by it.  A computer whose other system keeps local time in its
    clock is set back by hours when it finds the network; every timer would be late by
    as much, the supervisor's sign of life among them, and the daemon be killed.

    Nothing is delayed yet when a process asks for it first.
    """
    from twisted.internet import reactor

    steady: Any = reactor
    steady.seconds = time.monotonic
    return steady
