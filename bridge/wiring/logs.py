"""Where log lines go: the daemon's own, and those of pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from ..classes import frozen
from ..concurrency.threads import Pool
from ..daemon.daemon import LogObservers
from ..daemonlog import make_log_push, make_output
from ..datadir.paths import DataDir
from ..pagelog.pagefile import LogFileError, PageFile
from ..pagelog.writer import LogWriter
from ..protocol.text import Secrets
from ..rpc.hub import Event, Hub
from ..settings.config import Config


def make_log_observers(
    reactor: Any,
    config: Config,
    twistd: Mapping[str, Any] | None,
    secrets: Secrets,
    hub: Hub,
) -> LogObservers:
    """
    Make what the daemon's own log lines go to.

    :param twistd: The options of twistd, when that has started us.
    :param secrets: What no line may contain.
    """
    output = make_output(sys.stderr, config.log, config.log_format, secrets, os.environ)
    push = make_log_push(
        lambda record: hub.push(Event.LOG, record),
        config.log,
        secrets,
        reactor.callFromThread,
    )
    return LogObservers(output if _is_ours_to_print(twistd) else None, push)


def _is_ours_to_print(twistd: Mapping[str, Any] | None) -> bool:
    """Whether twistd is not configured to log somewhere else."""
    return twistd is None or not (
        twistd.get("logfile")
        or twistd.get("logger")
        or twistd.get("syslog")
        or not twistd.get("nodaemon", True)
    )


@frozen(eq=False, repr=False)
class PageLog:
    """
    The file of the page's log lines.

    :ivar writer: ``None`` when they are dropped.
    :ivar notices: Why they are dropped, unless an option asked for it.
    """

    writer: LogWriter | None
    notices: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The file, or ``disabled``."""
        return "disabled" if self.writer is None else str(self.writer.path)

    def reopen(self) -> None:
        """Continue in the file that has replaced this one."""
        if self.writer is not None:
            self.writer.reopen()

    def finish(self) -> list[Any]:
        """Return what is to be closed at the end."""
        return [] if self.writer is None else [self.writer]


def open_page_log(config: Config, data: DataDir, pool: Pool) -> PageLog:
    """Open the file, unless it is not wanted; one that can't be opened is a notice."""
    if config.no_log_capture:
        return PageLog(None)
    try:
        file = PageFile.open(config.log_file or data.log, config.log_max_bytes)
    except LogFileError as e:
        return PageLog(None, (f"the page's log lines are discarded: {e}",))
    return PageLog(LogWriter(file, pool.call))
