"""
Notices changes of a file, without polling where the system sends notifications.

On Linux that is inotify(7); elsewhere the file's status is compared twice a second.
See docs/decisions/0040.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from attrs import define, field
from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.main import CONNECTION_DONE
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.filepath import FilePath

WATCH_SECONDS: Final = 0.5
"""How often a file is polled where the system does not notify."""


@define(eq=False, repr=False)
class FileWatch:
    """
    Watches one file, whether or not it is there.

    It is the directory that is watched: a file that is replaced as a whole is another
    file than before.

    :ivar _changed: Called in the reactor's thread, after every change, and perhaps
        without one; it must check the file itself.
    """

    _reactor: Any
    _path: Path
    _changed: Callable[[], object]
    _notifier: Any = field(default=None, init=False)
    _poll: LoopingCall | None = field(default=None, init=False)
    _seen: object = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    @property
    def is_notified(self) -> bool:
        """Whether the system notifies, so that nothing is done between changes."""
        return self._notifier is not None

    def start(self) -> None:
        """Start watching; a change just before is noticed too."""
        self._notifier = self._notified()
        if self._notifier is None:
            self._seen = self._status()
            self._poll = LoopingCall(self._look)
            self._poll.clock = self._reactor
            self._poll.start(WATCH_SECONDS, now=False).addErrback(self._change_lost)
        self._report()

    def close(self) -> None:
        """Stop watching."""
        if self._poll is not None:
            self._poll.stop()
            self._poll = None
        if self._notifier is not None:
            notifier, self._notifier = self._notifier, None
            _end(notifier)

    def _notified(self) -> Any:
        """Return what reads the system's notifications, or ``None``."""
        if not IReactorFDSet.providedBy(self._reactor):
            return None
        try:
            from twisted.internet import inotify
        except ImportError:  # it exists on Linux only
            return None
        notifier = None
        mask = (
            inotify.IN_ATTRIB
            | inotify.IN_CLOSE_WRITE
            | inotify.IN_CREATE
            | inotify.IN_MOVED_TO
        )
        try:
            notifier = inotify.INotify(self._reactor)
            directory = FilePath(os.fsencode(self._path.parent))
            notifier.watch(directory, mask, callbacks=[self._noticed])
            notifier.startReading()
        except (OSError, inotify.INotifyError) as e:
            # A user has so many watches, and may have used them up.
            self._log.warn(
                "the daemon polls {name}: {why}", name=self._path.name, why=e
            )
            if notifier is not None:
                _end(notifier)
            return None
        return notifier

    def _noticed(self, _: object, path: FilePath[bytes], mask: int) -> None:
        if path.basename() == os.fsencode(self._path.name):
            self._report()

    def _look(self) -> None:
        status = self._status()
        if status != self._seen:
            self._seen = status
            self._report()

    def _report(self) -> None:
        try:
            self._changed()
        except Exception:  # noqa: BLE001 (the reactor would watch no more)
            self._change_lost(Failure())

    def _change_lost(self, failure: Failure) -> None:
        self._log.failure(
            "could not handle a change of {name}", failure, name=self._path.name
        )

    def _status(self) -> object:
        try:
            found = os.lstat(self._path)
        except OSError:
            return None
        return (
            found.st_dev,
            found.st_ino,
            found.st_size,
            found.st_mtime_ns,
            found.st_mode,
        )


def _end(notifier: Any) -> None:
    # Twisted ends it when its directory goes; twice, it would close another's file.
    if notifier.connected:
        notifier.connectionLost(Failure(CONNECTION_DONE))
