"""A desktop in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, fail, succeed
from zope.interface import implementer

from bridge.freedesktop import (
    DesktopError,
    INotifications,
    Note,
    Question,
    Server,
    Shown,
)

SERVER = Server(":1.7", "Sample", "1.0", frozenset({"actions"}))


@implementer(INotifications)
class FakeScreen:
    """
    Shows everything at once, to the test.

    :ivar failure: When not empty, nothing can be shown, and why.
    :ivar questions: What was asked: the note, its buttons, and the open answer.
    :ivar dismissing: Whether it closes each question before confirming it.
    :ivar withdrawn: How many questions were taken back.
    """

    def __init__(self) -> None:
        self.failure = ""
        self.server: Server | None = SERVER
        self.notes: list[Note] = []
        self.questions: list[
            tuple[Note, Sequence[tuple[str, str]], Deferred[str | None]]
        ] = []
        self.dismissing = False
        self.withdrawn = 0

    @property
    def health(self) -> str:
        """See ``INotifications``."""
        return "down" if self.failure else "up"

    def find(self) -> Deferred[Server]:
        """See ``INotifications``."""
        if self.failure or self.server is None:
            return fail(DesktopError(self.failure))
        return succeed(self.server)

    def show(self, note: Note) -> Deferred[Shown]:
        """See ``INotifications``."""
        self.notes.append(note)
        return succeed(Shown(len(self.notes), SERVER.owner))

    def ask(self, note: Note, actions: Sequence[tuple[str, str]]) -> Deferred[Question]:
        """See ``INotifications``."""
        if self.failure:
            return fail(DesktopError(self.failure))
        answer: Deferred[str | None] = Deferred(self._withdraw)
        self.questions.append((note, actions, answer))
        if self.dismissing:
            answer.callback(None)
        return succeed(Question(SERVER, answer))

    def watch(self, changed: Callable[[str], object]) -> Callable[[], None]:
        """See ``INotifications``."""
        return lambda: None

    def _withdraw(self, _: object) -> None:
        self.withdrawn += 1
