"""Twisted's reactor, as the daemon and the commands run it."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from twisted.internet.defer import maybeDeferred
from twisted.internet.error import ReactorNotRunning
from twisted.python.failure import Failure

from .processes import end_once

T = TypeVar("T")


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


def stop(reactor: Any) -> None:
    """Stop a reactor, which may be stopping."""
    with suppress(ReactorNotRunning):
        reactor.stop()


def run_once(reactor: Any, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """
    Run the reactor for one thing.

    :param reactor: Not running, and not to be run again.
    :raise KeyboardInterrupt: The user ended it first.
    """
    outcome: list[T | Failure] = []

    def start() -> None:
        done = maybeDeferred(begin).addBoth(outcome.append)
        done.addCallback(lambda _: reactor.callLater(0, stop, reactor))

    reactor.callWhenRunning(end_once)
    reactor.callWhenRunning(start)
    reactor.run()
    if not outcome:
        raise KeyboardInterrupt
    result = outcome[0]
    if isinstance(result, Failure):
        result.raiseException()
    return result
