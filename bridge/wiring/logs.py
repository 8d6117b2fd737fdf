"""Where log lines go: the daemon's own, and those of pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from twisted.logger import ILogObserver

from ..concurrency.threads import Pool
from ..daemonlog import make_output
from ..datadir.paths import DataDir
from ..pagelog.pagefile import LogFileError, PageFile
from ..pagelog.writer import LogWriter
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
    if not _is_ours_to_print(twistd):
        return None
    return make_output(sys.stderr, config.log, config.log_format, secrets, os.environ)


def _is_ours_to_print(twistd: Mapping[str, Any] | None) -> bool:
    """Whether twistd is not configured to log somewhere else."""
    return twistd is None or not (
        twistd.get("logfile")
        or twistd.get("logger")
        or twistd.get("syslog")
        or not twistd.get("nodaemon", True)
    )


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
