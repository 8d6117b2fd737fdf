"""``plugin-bridge logs``: the page's log lines, on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from twisted.python import usage

from ...classes import define
from ...pagelog.following import Follower
from ...pagelog.logrecords import LogLine, read_line
from ...pagelog.pagefile import LogFileError
from ...protocol.strictjson import dumps
from ...protocol.text import visible
from ...protocol.wire import unstructure
from ...settings.config import BY_NAME, HOST_OPTIONS, LOG_LEVELS, Option
from ...settings.options import HostOptions
from ...settings.values import one_of, whole
from ..terminal import failed, print_line

_LINES: Final = 50
_POLL_SECONDS: Final = 0.25


class LogsOptions(HostOptions):
    """The command line of ``plugin-bridge logs``."""

    table: ClassVar[tuple[Option, ...]] = (*HOST_OPTIONS, BY_NAME["log-file"])
    synopsis = (
        "Usage: plugin-bridge logs [-f] [--lines N] [--level LEVEL] [--scope SCOPE] "
        "[--json]"
    )
    longdesc = (
        "Shows the last lines of the log of the page and its plugins, and with -f new "
        "lines until Ctrl-C. It works without a daemon. The daemon's own log lines are "
        "not in this log. Exit status: 0 done, 1 there is no readable log file, 2 "
        "wrong usage."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["follow", "f", "also show new lines, until Ctrl-C"],
        ["json", None, "print each line as a JSON object"],
    ]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["lines", "n", str(_LINES), "how many of the last lines to show"],
        ["level", None, LOG_LEVELS[0], "show only this level and above"],
        ["scope", None, None, "show only this scope, such as a plugin's id"],
    ]

    def postOptions(self) -> None:
        """Read the values."""
        for name, read in (
            ("lines", whole(0, 1_000_000)),
            ("level", one_of(*LOG_LEVELS)),
        ):
            try:
                self[name] = read(self[name])
            except ValueError as e:
                raise usage.UsageError(f"--{name}: {e}") from None


@define
class Show:
    """
    Decides which lines are shown, and how.

    :ivar level: The least level that is.
    :ivar scope: The one scope that is; all when it is ``None``.
    :ivar json: Whether it is shown as a JSON object.
    :ivar count: How many lines were wanted so far.
    """

    level: str
    scope: str | None
    json: bool
    count: int = 0

    def __call__(self, line: bytes) -> str | None:
        """Return the line to print; ``None`` for none."""
        text = visible(line.decode("utf-8", "replace"))
        read = read_line(text)
        if not self._wanted(read):
            return None
        self.count += 1
        if not self.json:
            return text
        shown = {"message": text} if read is None else unstructure(read)
        return dumps(shown).decode("utf-8")

    def _wanted(self, read: LogLine | None) -> bool:
        if read is None:  # somebody else's: of no level and no scope
            return self.level == LOG_LEVELS[0] and self.scope is None
        enough = LOG_LEVELS.index(read.level) >= LOG_LEVELS.index(self.level)
        return enough and self.scope in (None, read.scope)


def main(arguments: list[str]) -> int:
    """Show the page's log and return the exit status."""
    options = LogsOptions()
    options.parseOptions(arguments)
    return logs(options, time.sleep)


def logs(options: LogsOptions, sleep: Callable[[float], None]) -> int:
    """
    Show the page's log.

    :param sleep: Waits some seconds.
    :return: The exit status.
    """
    path: Path = options.value("log-file") or options.paths().data.log
    follower = Follower(path)
    show = Show(options["level"], options["scope"], bool(options["json"]))
    try:
        reading = _print_last(follower, show, options["lines"])
        if not follower.found:
            if not options["follow"]:
                return failed("logs", f"there is no log file {path} yet")
            sys.stderr.write(f"waiting for {path}\n")
        elif reading and not show.count and not options["follow"]:
            _report_nothing(path, options)
        while reading and options["follow"]:
            reading = _print_more(follower, show)
            sleep(_POLL_SECONDS)
    except (LogFileError, OSError) as e:
        why = e.strerror if isinstance(e, OSError) else None
        return failed("logs", f"{path} can't be read: {why}" if why else str(e))
    except KeyboardInterrupt:
        pass
    finally:
        follower.close()
    return 0


def _report_nothing(path: Path, options: LogsOptions) -> None:
    """Report on standard error that there is no line to show, and why."""
    why = f"{path} has no line yet"
    if path.stat().st_size:
        why = f"no line of {path} matches; try --level debug, or another --scope"
    if options["lines"]:
        sys.stderr.write(f"{why}\n")


def _print_last(follower: Follower, show: Show, count: int) -> bool:
    return all(map(print_line, follower.last(count, show)))


def _print_more(follower: Follower, show: Show) -> bool:
    for line in follower.more():
        shown = show(line)
        if shown is not None and not print_line(shown):
            return False
    return True
