"""The steps of a plugin operation, and their reports to pages."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from ...approval import Operation
from ...protocol.errors import WireString
from ..bundle.build import Report
from ..installed.trees import ListEntry


class Step(WireString):
    """Where an operation is: the ``step`` of progress records."""

    AWAITING_CONFIRMATION = "awaiting_confirmation", "the user is asked on the desktop"
    CLONE = "clone", "the repository is fetched"
    VALIDATE = "validate", "the manifest is read"
    POLICY = "policy", "the sources are scanned"
    SIGNATURE = "signature", "the author's signature is verified"
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
    """

    op: Operation
    id: str | None
    step: Step
    message: str


class Audience(Protocol):
    """Receives reports about plugins, for the pages."""

    def progress(self, progress: Progress) -> None:
        """An operation has reached a step, or goes on in it."""

    def plugins(self, entries: list[ListEntry]) -> None:
        """The set of installed plugins has changed; these are all of it now."""

    def built(self, report: Report) -> None:
        """A build has ended."""
