"""The log lines of a plugin, while its author works on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from attrs import field
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from ...classes import define
from ...pagelog.following import Follower
from ...pagelog.logrecords import read_line
from ...pagelog.pagefile import LogFileError
from ...protocol.text import visible

POLL_SECONDS: Final = 0.25
_LEVEL_WIDTH: Final = len("error")


@define(eq=False)
class PluginLog:
    """
    Follows the page's log file.

    :ivar path: The file, which need not be there yet.
    """

    path: Path
    _clock: IReactorTime
    _follower: Follower | None = field(default=None, init=False)
    _looks: LoopingCall | None = field(default=None, init=False)

    def follow(self, scope: str, show: Callable[[str], None]) -> None:
        """
        Show the lines of a plugin from now on; a second call changes nothing.

        :param scope: Its id.
        :param show: Accepts a line.
        """
        if self._looks is not None:
            return
        self._follower = Follower(self.path)
        self._looks = LoopingCall(self._look, self._follower, scope, show)
        self._looks.clock = self._clock
        try:
            self._follower.last(0, lambda _: None)
        except (LogFileError, OSError) as e:
            show(_unreadable(self.path, e))
            return
        self._looks.start(POLL_SECONDS, now=False)

    def stop(self) -> None:
        """Stop, and close the file."""
        if self._looks is not None and self._looks.running:
            self._looks.stop()
        if self._follower is not None:
            self._follower.close()

    def _look(
        self, follower: Follower, scope: str, show: Callable[[str], None]
    ) -> None:
        try:
            for line in follower.more():
                read = read_line(visible(line.decode("utf-8", "replace")))
                if read is not None and read.scope == scope:
                    show(f"{read.level:<{_LEVEL_WIDTH}} {read.message}")
        except (LogFileError, OSError) as e:
            show(_unreadable(self.path, e))
            self.stop()


def _unreadable(path: Path, error: LogFileError | OSError) -> str:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return f"the plugin's log lines are not shown: {path}: {why}"
