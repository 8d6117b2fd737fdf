"""
Waits for what happens outside a test, which no clock of the test can drive.

Both look again and again, and fail when it takes too long: ``wait_until`` in tests that
may block, ``until`` in those that return Deferreds.
"""

import gc
import time
from collections.abc import Callable
from typing import Final

from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

PATIENCE_SECONDS: Final = 60.0
"""Long enough for a machine that is busy: a wait that succeeds ends much sooner."""


def wait_until(
    met: Callable[[], object],
    what: str = "it did not happen",
    seconds: float = PATIENCE_SECONDS,
) -> None:
    """
    Block until ``met()`` is true.

    :raise AssertionError: It took longer than ``seconds``.
    """
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, what
        time.sleep(0.05)


async def until(
    met: Callable[[], object],
    what: str = "it did not happen",
    seconds: float = PATIENCE_SECONDS,
) -> None:
    """
    Let the reactor work until ``met()`` is true; otherwise as ``wait_until``.

    :raise AssertionError: It took longer than ``seconds``.
    """
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, what
        await deferLater(reactor, 0.01)


def in_memory(kind: type) -> int:
    """Count the objects of a class, garbage and all."""
    return sum(type(one) is kind for one in gc.get_objects())


def expect_freed(test: TestCase, kind: type) -> None:
    """Have a test leave no object of a class that waits for a garbage collection."""
    gc.disable()
    test.addCleanup(gc.enable)
    before, what = in_memory(kind), f"a {kind.__name__} is kept"
    test.addCleanup(until, lambda: in_memory(kind) <= before, what, 10)
