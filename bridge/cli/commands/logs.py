"""``plugin-bridge logs``: the page's log lines, on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from ...classes import define
from ...pagelog.following import Follower
from ...pagelog.logrecords import LogLine, read_line
from ...pagelog.pagefile import LogFileError
from ...protocol.strictjson import dumps
from ...protocol.text import visible
from ...protocol.wire import unstructure
from ...settings.config import BY_NAME, HOST_OPTIONS, LOG_LEVELS
from ...settings.options import Paths, Value
from ...settings.values import one_of
from ..command import command, number_option
from ..terminal import CommandError, print_line

_LINES: Final = 50
_POLL_SECONDS: Final = 0.25


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


@command(
    "logs",
    "Show the last lines of the log of the page and its plugins, and with -f new lines "
    "until Ctrl-C. It works without a daemon. The daemon's own log lines are not in "
    "this log.",
    "-f --level warn",
    status="Exit status: 0 done, 1 there is no readable log file, 2 wrong usage.",
    table=(*HOST_OPTIONS, BY_NAME["log-file"]),
)
@click.option("--follow", "-f", is_flag=True, help="Also show new lines, until Ctrl-C.")
@number_option(
    "--lines",
    "-n",
    default=_LINES,
    low=0,
    high=1_000_000,
    about="How many of the last lines to show.",
)
@click.option(
    "--level",
    type=Value(one_of(*LOG_LEVELS), LOG_LEVELS),
    metavar="LEVEL",
    default=LOG_LEVELS[0],
    show_default=True,
    help="Show only this level and above.",
)
@click.option("--scope", help="Show only this scope, such as a plugin's id.")
@click.option("--json", "as_json", is_flag=True, help="Print each line as JSON.")
def logs(
    place: Paths,
    log_file: Path | None,
    follow: bool,
    lines: int,
    level: str,
    scope: str | None,
    as_json: bool,
) -> None:
    """Show the page's log."""
    path = log_file or place.data.log
    show_log(path, Show(level, scope, as_json), lines, time.sleep if follow else None)


def show_log(
    path: Path, show: Show, count: int, sleep: Callable[[float], None] | None
) -> None:
    """
    Show a log file.

    :param count: How many of the last lines.
    :param sleep: Waits some seconds; ``None`` to end after the last line.
    :raise CommandError: The file can't be read.
    """
    follower = Follower(path)
    try:
        reading = _print_last(follower, show, count)
        if not follower.found:
            if sleep is None:
                raise CommandError(f"there is no log file {path} yet")
            sys.stderr.write(f"waiting for {path}\n")
        elif reading and count and not show.count and sleep is None:
            _report_nothing(path)
        while reading and sleep is not None:
            reading = _print_more(follower, show)
            sleep(_POLL_SECONDS)
    except LogFileError as e:
        raise CommandError(str(e)) from None
    except OSError as e:
        raise CommandError(f"{path} can't be read: {e.strerror}") from None
    except KeyboardInterrupt:
        pass
    finally:
        follower.close()


def _report_nothing(path: Path) -> None:
    """Report on standard error that there is no line to show, and why."""
    why = f"{path} has no line yet"
    if path.stat().st_size:
        why = f"no line of {path} matches; try --level debug, or another --scope"
    sys.stderr.write(f"{why}\n")


def _print_last(follower: Follower, show: Show, count: int) -> bool:
    return all(map(print_line, follower.last(count, show)))


def _print_more(follower: Follower, show: Show) -> bool:
    for line in follower.more():
        shown = show(line)
        if shown is not None and not print_line(shown):
            return False
    return True
