"""
The limits of one clone, and how it is stopped.

A blocked read cannot look at the clock, so a second thread does: it shuts the
clone's sockets down when the time is over or the clone is stopped.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from attrs import define, field, frozen

from ...protocol import limits
from ...protocol.errors import BridgeError, Prefix, plugin_error

WATCH_SECONDS: Final = 0.2


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


@define(eq=False)
class Transfer:
    """
    One clone under way; a context manager around all of it.

    :ivar now: A monotonic clock, in seconds.
    :ivar progress: Called with the bytes received so far, a few times a second.
    :ivar stop: Ends the clone when another thread sets it.
    """

    limits: CloneLimits
    now: Callable[[], float]
    progress: Callable[[int], None]
    stop: threading.Event
    _refusal: BridgeError | None = field(default=None, init=False)
    _received: int = field(default=0, init=False)
    _deadline: float = field(init=False)
    _report_from: float = field(init=False)
    _sockets: list[socket.socket] = field(factory=list, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    _over: threading.Event = field(factory=threading.Event, init=False)
    _watchdog: threading.Thread = field(init=False)

    def __enter__(self) -> Self:
        started = self.now()
        self._deadline = started + self.limits.seconds
        self._report_from = started
        self._watchdog = threading.Thread(
            target=self._watch, name="clone-watchdog", daemon=True
        )
        self._watchdog.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._watchdog.join()
        for held in self._sockets:
            held.close()

    def check(self) -> None:
        """
        Check that the clone may go on.

        :raise BridgeError: It is too late, or was stopped.
        """
        if self._refusal is None:
            self._refusal = self._limit_error()
        if self._refusal is not None:
            raise self._refusal

    def received(self, count: int) -> None:
        """
        Count bytes that came from the network.

        :raise BridgeError: They are too many, or the clone may not go on.
        """
        self._received += count
        if self._received > self.limits.received_bytes:
            self._refusal = clone_failed(
                f"more than {self.limits.received_bytes} bytes received"
            )
        self.check()
        now = self.now()
        if now >= self._report_from:
            self._report_from = now + 1 / limits.PROGRESS_PER_SECOND
            self.progress(self._received)

    def hold(self, connection: socket.socket) -> None:
        """
        Let the watchdog shut this connection down, also while it connects.

        A duplicate is kept, because wrapping in TLS takes the original's handle.
        """
        with self._lock:
            self._sockets.append(connection.dup())
        self.check()

    def _limit_error(self) -> BridgeError | None:
        if self.stop.is_set():
            return clone_failed("stopped before it was finished")
        if self.now() >= self._deadline:
            return clone_failed(f"not finished within {self.limits.seconds:g} seconds")
        return None

    def _watch(self) -> None:
        while not self._over.wait(WATCH_SECONDS):
            try:
                self.check()
            except BridgeError:
                self._cut()

    def _cut(self) -> None:
        with self._lock:
            for held in self._sockets:
                # Not connected yet, or the server was faster.
                with contextlib.suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)
