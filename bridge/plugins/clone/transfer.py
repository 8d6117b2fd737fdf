"""The limits of one clone, and what it has received so far."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field

from ...classes import define, frozen
from ...protocol import limits
from ...protocol.errors import BridgeError, Prefix, plugin_error


@frozen
class CloneLimits:
    """How large a clone may get, and how long it may take."""

    seconds: float = limits.CLONE_SECONDS
    received_bytes: int = limits.CLONE_RECEIVED_BYTES
    redirects: int = limits.CLONE_REDIRECTS
    objects: int = limits.CLONE_OBJECTS
    unpacked_bytes: int = limits.CLONE_UNPACKED_BYTES
    delta_steps: int = limits.CLONE_DELTA_STEPS
    files: int = limits.TREE_FILES
    tree_bytes: int = limits.TREE_BYTES
    tree_depth: int = limits.TREE_DEPTH
    path_bytes: int = limits.TREE_PATH_BYTES


def clone_failed(detail: str) -> BridgeError:
    """Return the error of a failed clone: ``clone_failed: <detail>``."""
    return plugin_error(Prefix.CLONE_FAILED, detail)


@define(eq=False, repr=False)
class Received:
    """
    Counts what is received.

    :ivar _most: How many bytes there may be.
    :ivar _now: A monotonic clock, in seconds.
    :ivar _progress: Called with the bytes so far, a few times a second.
    """

    _most: int
    _now: Callable[[], float]
    _progress: Callable[[int], None]
    _bytes: int = field(default=0, init=False)
    _report_from: float = field(default=float("-inf"), init=False)

    def add(self, count: int) -> None:
        """
        Count bytes that came from the network.

        :raise BridgeError: They are too many.
        """
        self._bytes += count
        if self._bytes > self._most:
            raise clone_failed(f"more than {self._most} bytes received")
        now = self._now()
        if now >= self._report_from:
            self._report_from = now + 1 / limits.PROGRESS_PER_SECOND
            self._progress(self._bytes)
