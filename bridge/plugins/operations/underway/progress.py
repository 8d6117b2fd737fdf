"""The steps of a plugin operation, and their reports to pages."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from ....approval import Operation
from ....protocol.errors import WireString
from ...bundle.build import Report
from ...installed.trees import ListEntry


class Step(WireString):
    """Where an operation is: the ``step`` of progress records."""

    AWAITING_CONFIRMATION = "awaiting_confirmation", "the user is asked on the desktop"
    CLONE = "clone", "the repository is fetched"
    VALIDATE = "validate", "the manifest is read"
    POLICY = "policy", "the sources are scanned"
    SIGNATURE = "signature", "the author's signature is verified"
    COMPARE = "compare", "a preview is compared with what is installed"
    MOVE = "move", "the tree is put in place and recorded"
    BUILD = "build", "the bundle is built with it"
    ROLLBACK = "rollback", "what was done is rolled back"
    REMOVE = "remove", "the tree, its record and its settings are removed"


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
