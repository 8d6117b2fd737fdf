"""Operating systems that fail, or die, at a chosen call."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any
from unittest import mock

from attrs import define, field

import bridge.datadir.paths
import bridge.system.files
from bridge.store import generations

CHANGING = ("open", "fdopen", "fsync", "link", "replace", "rename", "unlink", "rmdir")
"""The calls that matter to what is on disk."""


def no_space() -> None:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_links() -> None:
    """Fail as a file system without hard links does."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


@define
class FaultyOs:
    """
    The ``os`` module, with one call that goes wrong.

    :ivar at: Which call goes wrong, counted from 0; ``None`` for none.
    :ivar fault: What happens instead of that call.
    :ivar ever_after: Whether every later call goes wrong too.
    :ivar links: Whether the file system has hard links.
    :ivar calls: The calls that were made, as (name, file name).
    """

    at: int | None = None
    fault: Callable[[], None] = no_space
    ever_after: bool = False
    links: bool = True
    calls: list[tuple[str, str]] = field(factory=list)
    # Files are synced in threads.
    _counting: Lock = field(factory=Lock)

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._watched(name, real) if name in CHANGING else real

    def _watched(self, name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._counting:
                number = len(self.calls)
                self.calls.append((name, os.path.basename(str(args[-1]))))
            if self.at is not None and (
                number == self.at or (self.ever_after and number > self.at)
            ):
                self.fault()
            if name == "link" and not self.links:
                no_links()
            return real(*args, **kwargs)

        return call


@contextmanager
def running_on(faulty: FaultyOs, *others: Any) -> Iterator[FaultyOs]:
    """Let the store's files, and those of other modules, be handled by ``faulty``."""
    with ExitStack() as stack:
        for module in (
            generations,
            bridge.datadir.paths,
            bridge.system.files,
            *others,
        ):
            stack.enter_context(mock.patch.object(module, "os", faulty))
        yield faulty
