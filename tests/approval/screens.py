"""A desktop in memory."""

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, execute, fail, succeed

from bridge.freedesktop.connection import DesktopError
from bridge.freedesktop.notifications import Note, Server

SERVER = Server(":1.7", "Sample", "1.0", frozenset({"actions"}))


class _FakeScreen:
    """
    Shows everything at once, to the test; see ``DesktopContract``.

    :ivar server: What shows notifications; ``None`` when nobody does.
    :ivar is_known: Whether the server was asked what it can do.
    :ivar is_expected: Whether one is started when it is needed.
    :ivar failure: When not empty, the session bus can't be reached, and why.
    :ivar questions: What was asked: the note, its buttons, and the open answer.
    :ivar withdrawn: How many questions were withdrawn.
    """

    def __init__(self) -> None:
        self._failure = ""
        self._server: Server | None = SERVER
        self.is_known, self.is_expected = True, False
        self.changed: Callable[[], object] = lambda: None
        self.notes: list[Note] = []
        self.questions: list[
            tuple[Note, Sequence[tuple[str, str]], Deferred[str | None]]
        ] = []
        self.withdrawn = 0

    @property
    def server(self) -> Server | None:
        return self._there() if self.is_known else None

    @server.setter
    def server(self, server: Server | None) -> None:
        before, self._server = self.health, server
        self._report(before)

    @property
    def failure(self) -> str:
        return self._failure

    @failure.setter
    def failure(self, failure: str) -> None:
        before, self._failure = self.health, failure
        self._report(before)

    @property
    def health(self) -> str:
        return "down" if self._there() is None else "up"

    def look(self) -> Deferred[Any]:
        return succeed(None) if self.is_expected else self.find()

    def find(self) -> Deferred[Server]:
        return execute(self._found)

    def show(self, note: Note) -> Deferred[None]:
        return self.find().addCallback(self._show, note)

    def ask(
        self, note: Note, actions: Sequence[tuple[str, str]]
    ) -> Deferred[str | None]:
        try:
            return self._ask(self._found(), note, actions)
        except DesktopError as e:
            return fail(e)

    def _there(self) -> Server | None:
        return None if self._failure else self._server

    def _found(self) -> Server:
        if self._server is None and self.is_expected:
            self.server = SERVER
        server = self._there()
        if server is None:
            raise DesktopError(self.failure or "nobody shows notifications")
        self.is_known = True
        return server

    def _show(self, server: Server, note: Note) -> None:
        self.notes.append(note)

    def _ask(
        self, server: Server, note: Note, actions: Sequence[tuple[str, str]]
    ) -> Deferred[str | None]:
        if "actions" not in server.capabilities:
            raise DesktopError("the notification server shows no buttons")
        answer: Deferred[str | None] = Deferred(self._withdraw)
        self.questions.append((note, actions, answer))
        return answer

    def _report(self, before: str) -> None:
        if self.health != before:
            self.changed()

    def _withdraw(self, _: object) -> None:
        self.withdrawn += 1


FakeScreen: Any = _FakeScreen
"""Stands for ``Notifications``."""
