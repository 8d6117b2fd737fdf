"""Where the page's log lines go: a file, unless it is not wanted or can't be used."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from ..concurrency.threads import Pool
from ..datadir.paths import DataDir
from ..pagelog.pagefile import LogFileError, PageFile
from ..pagelog.writer import LogWriter
from ..settings.config import Config


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
