"""Reports about plugin operations to pages."""

from __future__ import annotations

from typing import Protocol

from ....approval import Operation
from ....classes import frozen
from ....protocol.steps import Step
from ...bundle.build import Report
from ...installed.trees import ListEntry


@frozen
class Progress:
    """
    A report to pages about one step.

    :ivar op: The operation.
    :ivar id: The plugin's, the same during one operation; null during an install.
    :ivar step: What it does now.
    :ivar message: For display; of what a caller sent it shows only the host.
    :ivar operation: The daemon's name for it, for ``cancel``.
    :ivar ref: The name that the page which asked for it has chosen; null without one.
    :ivar cancellable: Whether it can still be cancelled.
    """

    op: Operation
    id: str | None
    step: Step
    message: str
    operation: str
    ref: str | None
    cancellable: bool


class Watcher(Protocol):
    """Receives the progress of operations."""

    def progress(self, progress: Progress) -> None:
        """An operation has reached a step, or goes on in it."""


class Audience(Watcher, Protocol):
    """Receives reports about plugins, for the pages."""

    def plugins(self, entries: list[ListEntry]) -> None:
        """The set of installed plugins has changed; these are all of it now."""

    def built(self, report: Report) -> None:
        """A build has ended."""
