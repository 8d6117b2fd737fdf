"""The steps of a plugin operation, and who is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from attrs import define, frozen

from ...approval import Operation
from ...protocol.errors import WireString
from ...protocol.limits import PROGRESS_PER_SECOND
from ..bundle.build import Report


class Step(WireString):
    """Where an operation is: the ``step`` of progress records."""

    AWAITING_CONFIRMATION = "awaiting_confirmation", "the user is asked on the desktop"
    CLONE = "clone", "the repository is fetched"
    VALIDATE = "validate", "the manifest is read"
    POLICY = "policy", "the sources are scanned"
    SIGNATURE = "signature", "the author's signature is verified"
    MOVE = "move", "the tree is put in place and recorded"
    BUILD = "build", "the bundle is built with it"
    ROLLBACK = "rollback", "what was done is taken back"
    REMOVE = "remove", "the tree, its record and its settings are removed"


@frozen
class Progress:
    """
    What pages are told at each step.

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
    """Whoever is told what happens to the plugins: the pages."""

    def progress(self, progress: Progress) -> None:
        """An operation has reached a step, or goes on in it."""

    def plugins(self, entries: list[dict[str, Any]]) -> None:
        """The set of installed plugins has changed; these are all of it now."""

    def built(self, report: Report) -> None:
        """A build has ended."""


@define(eq=False)
class Throttle:
    """
    Lets a few of many numbers through.

    :ivar now: In seconds.
    """

    _now: Callable[[], float]
    _deliver: Callable[[int], object]
    _next: float

    def __call__(self, number: int) -> None:
        """Deliver ``number`` unless the last one was delivered just now."""
        now = self._now()
        if now >= self._next:
            self._next = now + 1 / PROGRESS_PER_SECOND
            self._deliver(number)

    @classmethod
    def after_now(
        cls, now: Callable[[], float], deliver: Callable[[int], object]
    ) -> Throttle:
        """Make one that counts as having delivered at this moment."""
        return cls(now, deliver, now() + 1 / PROGRESS_PER_SECOND)
