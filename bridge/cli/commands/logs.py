"""``plugin-bridge logs``: the page's log lines, on a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

import click

from ...pagelog.logrecords import read_line
from ...pagelog.pagefile import Follower
from ...protocol.strictjson import dumps
from ...protocol.text import visible
from ...protocol.wire import unstructure
from ...settings.config import BY_NAME, HOST_OPTIONS, LOG_LEVELS
from ...settings.host import Paths
from ..command import command
from ..terminal import CommandError, reported

_POLL_SECONDS: Final = 0.25


@command(
    "logs",
    "-f --level warn",
    status="Exit status: 0 done, 1 there is no readable log file, 2 wrong usage.",
    table=(*HOST_OPTIONS, BY_NAME["log-file"]),
)
@click.option("--follow", "-f", is_flag=True, help="Also show new lines, until Ctrl-C.")
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(0, 1_000_000),
    metavar="NUMBER",
    default=50,
    show_default=True,
    help="How many of the last lines to show.",
)
@click.option(
    "--level",
    type=click.Choice(LOG_LEVELS),
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
    """
    Show the last lines of the log of the page and its plugins, and with -f new lines
    until Ctrl-C.

    It works without a daemon. The daemon's own lines are in logs/daemon.log in the
    data directory.
    """
    path = log_file or place.data.log

    shown = partial(_shown, level=level, scope=scope, as_json=as_json)
    reading = partial(reported, f"{path} can't be read")
    with closing(Follower(path)) as follower, suppress(KeyboardInterrupt):
        with reading():
            last = follower.last(lines, shown)
        if not follower.found and not follow:
            raise CommandError(f"there is no log file {path} yet")
        if not follower.found:
            sys.stderr.write(f"waiting for {path}\n")
        elif lines and not (last or follow):
            sys.stderr.write(_nothing(path))
        for text in last:
            print(text)
        while follow:
            with reading():
                more = [*map(shown, follower.more())]
            for text in filter(None, more):
                print(text)
            time.sleep(_POLL_SECONDS)


def _shown(line: bytes, level: str, scope: str | None, as_json: bool) -> str | None:
    """
    Return the text to print of a line; ``None`` for none.

    :param level: The least level that is shown.
    :param scope: The one scope that is; all when it is ``None``.
    """
    text = visible(line.decode("utf-8", "replace"))
    read = read_line(text)
    if read is None:  # somebody else's: of no level and no scope
        if level != LOG_LEVELS[0] or scope is not None:
            return None
        return dumps({"message": text}).decode() if as_json else text
    is_enough = LOG_LEVELS.index(read.level) >= LOG_LEVELS.index(level)
    if not is_enough or scope not in (None, read.scope):
        return None
    return dumps(unstructure(read)).decode() if as_json else text


def _nothing(path: Path) -> str:
    """Return why there is no line to show."""
    if path.stat().st_size:
        return f"no line of {path} matches; try --level debug, or another --scope\n"
    return f"{path} has no line yet\n"
