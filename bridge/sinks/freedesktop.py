"""
The ``freedesktop`` sink: the desktop's own notifications.

Desktop Notifications 1.2,
https://specifications.freedesktop.org/notification-spec/1.2/protocol.html.
"""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar, Final

from attrs import evolve, field
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define
from ..freedesktop.connection import DesktopError
from ..freedesktop.notifications import DEFAULT_MS, Note, Notifications, Server, Urgency
from ..protocol.limits import DESKTOP_SECONDS
from .fanout import Health, Notification, UnavailableError
from .icons import IconFiles, ImageError

RENDERS_ANYWAY: Final = frozenset({"dunst"})
"""Servers that read a body as markup without listing ``body-markup``."""


def body(text: str, server: Server) -> str:
    """Write a text so that the server shows just it."""
    renders = "body-markup" in server.capabilities
    if renders or server.name.lower() in RENDERS_ANYWAY:
        return escape(text, quote=False)
    return text


@define(eq=False, repr=False)
class Freedesktop:
    """
    Shows desktop notifications.

    When at the start there is no bus, or no server and none that the bus can start, it
    is no target; it becomes one as soon as a server appears, and from then on is only
    ``up`` or ``down``.  A server that does not answer is asked again; one is started
    only for a notification.

    :ivar desktop_entry: The application's ``.desktop`` file without its ending.
    :ivar application: What users know the host application by.
    :ivar reserved: Names of the sender of prompts, which no notification may have.
    """

    name: ClassVar[str] = "freedesktop"
    description: ClassVar[str] = "the desktop's notifications"
    honours: ClassVar[tuple[str, ...]] = (
        "title",
        "content",
        "timeoutSecs",
        "icon",
        "sourceApp",
        "urgency",
        "sound",
    )

    _desktop: Notifications
    _icons: IconFiles
    _clock: IReactorTime
    _desktop_entry: str = ""
    _application: str = ""
    _reserved: tuple[str, ...] = ()
    has_started: bool = field(default=False, init=False)
    _looking: Deferred[Any] = field(factory=lambda: succeed(None), init=False)
    _retry: IDelayedCall | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    def start(self) -> Deferred[None]:
        self._icons.open()
        self._desktop.changed = self._look_again
        return self._look()

    def _look(self) -> Deferred[None]:
        self._looking = self._desktop.look()
        return self._looking.addCallbacks(self._found, self._not_found)

    def _found(self, _: object) -> None:
        self.has_started = True

    def _not_found(self, failure: Failure) -> None:
        self._stop_retry()
        if self.health() == Health.UP:
            # No signal shows when a server that was mute answers.
            self._retry = self._clock.callLater(DESKTOP_SECONDS, self._look_again)
        failure.trap(DesktopError)
        raise UnavailableError(failure.getErrorMessage()) from None

    def _look_again(self) -> None:
        """Become a target, even late, when a server is there that answers."""
        if self.health() == Health.UP and self._looking.called and not self.has_started:
            self._look().addCallbacks(self._started_late, self._not_started)

    def _started_late(self, _: object) -> None:
        self._log.info("sink {name} has started", name=self.name)

    def _not_started(self, failure: Failure) -> None:
        if not failure.check(UnavailableError, CancelledError):
            self._log.failure("sink {name} failed", failure, name=self.name)

    def health(self) -> Health:
        return Health.UP if self._desktop.health == "up" else Health.DOWN

    def deliver(self, notification: Notification) -> Deferred[None]:
        if not self.has_started:
            raise UnavailableError("it has not started, or has ended")
        return Deferred.fromCoroutine(self._deliver(notification))

    async def _deliver(self, notification: Notification) -> None:
        try:
            server = await self._desktop.find()
            picture = await self._picture(notification)
            shown = note(notification, server, picture, self._desktop_entry)
            await self._desktop.show(self._not_as_a_prompt(shown))
        except DesktopError as e:
            raise UnavailableError(str(e)) from None

    def _not_as_a_prompt(self, shown: Note) -> Note:
        name = " ".join(shown.application.split()).casefold()
        if name in (each.casefold() for each in self._reserved):
            return evolve(shown, application=self._application)
        return shown

    async def _picture(self, notification: Notification) -> str:
        """Return the file of the image; empty if there is none that can be shown."""
        if not notification.image:
            return ""
        try:
            return str(await self._icons.file(notification.image, notification.sender))
        except ImageError as e:
            self._log.warn("a notification is shown without its icon: {why}", why=e)
        except OSError as e:
            self._log.warn("icons cannot be kept: {why}", why=e.strerror)
        return ""

    def close(self) -> None:
        self._desktop.changed = lambda: None
        self._looking.cancel()
        self._stop_retry()
        self.has_started = False
        self._icons.close()

    def _stop_retry(self) -> None:
        if self._retry is not None and self._retry.active():
            self._retry.cancel()


def note(
    notification: Notification, server: Server, picture: str = "", entry: str = ""
) -> Note:
    """
    Convert a notification for a server.

    :param picture: The file of its image, or empty.
    :param entry: The application's ``.desktop`` file without its ending, or empty.
    """
    timeout = notification.timeout
    return Note(
        application=notification.source_app,
        summary=notification.title,
        body=body(notification.content, server),
        icon=notification.icon,
        urgency=Urgency[notification.urgency.upper()],
        suppress_sound=notification.sound is False,
        image_path=picture,
        desktop_entry=entry,
        # Never 0, which would mean that it never goes.
        expire_ms=DEFAULT_MS if timeout is None else round(timeout * 1000),
    )
