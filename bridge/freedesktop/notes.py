"""Notifications of the desktop, and the servers that show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, Protocol

from twisted.internet.defer import Deferred

from ..classes import frozen
from .messages import DesktopError

DEFAULT_MS: Final = -1
NEVER_MS: Final = 0


class Urgency(IntEnum):
    """The urgency of a note; servers never let a critical one expire."""

    LOW = 0
    NORMAL = 1
    CRITICAL = 2


@frozen
class Note:
    """
    What is shown.

    :ivar application: The sender, as users know it.
    :ivar body: Text; a server of ``body-markup`` reads it as markup.
    :ivar icon: The name of an icon; empty for none.
    :ivar image_path: An absolute path of a picture; empty for none.
    :ivar desktop_entry: The name of a ``.desktop`` file without its ending.
    :ivar expire_ms: Milliseconds; ``DEFAULT_MS`` leaves it to the server.
    """

    application: str
    summary: str
    body: str = ""
    icon: str = ""
    urgency: Urgency = Urgency.NORMAL
    suppress_sound: bool = False
    image_path: str = ""
    desktop_entry: str = ""
    expire_ms: int = DEFAULT_MS


@frozen
class Server:
    """
    A notification server.

    :ivar owner: Its unique name on the bus.
    :ivar name: Its own name, such as ``dunst``; untrusted text.
    :ivar version: Its version; untrusted text.
    :ivar capabilities: What it can do, such as ``actions`` and ``body-markup``.
    """

    owner: str
    name: str
    version: str
    capabilities: frozenset[str]


class QuestionExpiredError(DesktopError):
    """The server closed a question before it was answered."""


class Desktop(Protocol):
    """The desktop's notifications."""

    @property
    def health(self) -> str:
        """``up`` while a notification server is there, else ``down``."""

    @property
    def is_expected(self) -> bool:
        """Whether one may come: none was looked for yet, or the bus can start one."""

    @property
    def server(self) -> Server | None:
        """The server that was last asked what it can do, while it is there."""

    def look(self) -> Deferred[None]:
        """
        Look for a server without starting one.

        One that is started before its display is there ends, and keeps the bus from
        starting another for two minutes, in which no program can show a notification.

        :return: Fires when one answers, or could be started; fails with
            ``DesktopError`` within five seconds.
        """

    def find(self) -> Deferred[Server]:
        """
        Return the current server; without one, ask the bus to start it.

        :return: Fails with ``DesktopError`` within five seconds.
        """

    def show(self, note: Note) -> Deferred[None]:
        """
        Show a note.

        :return: Fires when a server has taken it; fails with ``DesktopError``.
        """

    def ask(
        self, note: Note, actions: Sequence[tuple[str, str]]
    ) -> Deferred[str | None]:
        """
        Show a note with buttons until one is pressed.

        :param actions: The key and the label of each.
        :return: Fires with the key of the action that the user chose, or ``None`` when
            the note was closed without one.  Fails with ``QuestionExpiredError`` when
            its server let it expire, and with ``DesktopError`` when it can't be shown,
            as by a server without buttons, and when the server or the bus is gone.
            Cancelling it withdraws the note.
        """

    def watch(self, changed: Callable[[str], object]) -> Callable[[], None]:
        """
        Call ``changed`` with each new ``health``.

        :return: A function that unsubscribes.
        """
