"""A working tree, watched for changes by looking at it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from ...classes import define
from ...protocol.limits import DEV_POLL_SECONDS
from ..authoring.worktree import GIT_FOLDER, PACKAGES_FOLDER

IGNORED: Final = frozenset({GIT_FOLDER, PACKAGES_FOLDER})

Snapshot = dict[str, tuple[int, int]]


def snapshot(root: Path, ignored: Collection[str] = IGNORED) -> Snapshot:
    """
    Note every file below a directory: when it was changed, and its size.

    What can't be read is as if it were not there.
    """
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in ignored]
        for name in files:
            path = os.path.join(folder, name)
            try:
                about = os.lstat(path)
            except OSError:
                continue
            found[path] = (about.st_mtime_ns, about.st_size)
    return found


@define(eq=False)
class Watch:
    """
    Reports when a tree has changed, and has then not changed for one poll.

    :ivar changed: Called then, and once at the beginning; when it gives ``False``,
        it is called again after the next look.
    """

    _root: Path
    _clock: IReactorTime
    _changed: Callable[[], bool]
    _seen: Snapshot | None = field(default=None, init=False)
    _due: bool = field(default=True, init=False)
    _looks: LoopingCall | None = field(default=None, init=False)

    def start(self) -> Deferred[LoopingCall]:
        """Begin to look; the Deferred fires when it was stopped."""
        self._looks = LoopingCall(self._look)
        self._looks.clock = self._clock
        return self._looks.start(DEV_POLL_SECONDS)

    def stop(self) -> None:
        """Stop polling."""
        if self._looks is not None and self._looks.running:
            self._looks.stop()

    def _look(self) -> None:
        found = snapshot(self._root)
        if found != self._seen:
            self._seen, self._due = found, True
        elif self._due:
            self._due = not self._changed()
