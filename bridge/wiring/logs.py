"""Where log lines go: the daemon's own, and those of pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from threading import RLock
from typing import Any

from attrs import field
from twisted.logger import ILogObserver, LogEvent
from zope.interface import implementer

from ..classes import define
from ..concurrency.threads import Pool
from ..daemonlog import Output, as_text, at_least, read_event, to_journal
from ..datadir.paths import DataDir
from ..pagelog.pagefile import LogFileError, PageFile
from ..pagelog.writer import LogWriter
from ..protocol.limits import DAEMON_LOG_BYTES
from ..protocol.text import Secrets
from ..settings.config import Config


def make_log_output(
    config: Config, twistd: Mapping[str, Any] | None, secrets: Secrets
) -> ILogObserver | None:
    """
    Make what prints the daemon's own log lines.

    :param twistd: The options of twistd, when that has started us.
    :param secrets: What no line may contain.
    :return: ``None`` when twistd prints them.
    """
    if twistd is not None and (
        twistd.get("logfile")
        or twistd.get("logger")
        or twistd.get("syslog")
        or not twistd.get("nodaemon", True)
    ):
        return None
    is_journal = to_journal(sys.stderr, os.environ)
    output = Output(sys.stderr, config.log_format, secrets, is_journal)
    return at_least(config.log, output)


@implementer(ILogObserver)
@define(eq=False, repr=False)
class DaemonLog:
    """
    Keeps the daemon's own log lines in a file, wherever else they are shown.

    ``plugin-bridge doctor`` takes them from there for a bug report.  What cannot be
    written is lost.
    """

    _file: PageFile | None
    _secrets: Secrets
    # Twisted logs in signal handlers, too.
    _lock: RLock = field(factory=RLock, init=False)

    def __call__(self, event: LogEvent) -> None:
        line = f"{as_text(read_event(event, self._secrets))}\n"
        with self._lock, suppress(OSError):
            if self._file is not None:
                self._file.append(line.encode("utf-8", "replace"))

    def close(self) -> None:
        """Close the file; what is logged after that is not in it."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()


def open_daemon_log(data: DataDir, secrets: Secrets) -> tuple[DaemonLog, str | None]:
    """
    Open the file of the daemon's own log lines.

    :return: What is logged to; and why nothing of it is kept.
    """
    try:
        file = PageFile.open(data.daemon_log, DAEMON_LOG_BYTES)
    except LogFileError as e:
        return DaemonLog(None, secrets), f"the daemon's log lines are not kept: {e}"
    return DaemonLog(file, secrets), None


def open_page_log(
    config: Config, data: DataDir, pool: Pool
) -> tuple[LogWriter | None, str | None]:
    """
    Open the file of the page's log lines.

    :return: ``None`` when they are dropped; and why, unless an option asked for it.
    """
    if config.no_log_capture:
        return None, None
    try:
        file = PageFile.open(config.log_file or data.log, config.log_max_bytes)
    except LogFileError as e:
        return None, f"the page's log lines are discarded: {e}"
    return LogWriter(file, pool.call), None
