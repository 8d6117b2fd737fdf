"""
The ``freedesktop`` sink: the desktop's own notifications.

Desktop Notifications 1.2,
https://specifications.freedesktop.org/notification-spec/1.2/protocol.html.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from html import escape
from typing import ClassVar, Final

from attrs import field
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ..classes import define
from ..freedesktop import DesktopError, INotifications, Note, Server, Urgency
from ..freedesktop.notes import DEFAULT_MS
from ..protocol.limits import DESKTOP_SECONDS, SINK_RETRY_SECONDS
from .fanout import Health, ISink, SinkError, UnavailableError
from .icons import IconFiles, ImageError
from .notification import Notification

RENDERS_ANYWAY: Final = frozenset({"dunst"})
"""Servers that read a body as markup without listing ``body-markup``."""

_URGENCY: Final = {
    "low": Urgency.LOW,
    "normal": Urgency.NORMAL,
    "critical": Urgency.CRITICAL,
}


def body(text: str, server: Server) -> str:
    """Write a text so that the server shows just it."""
    renders = "body-markup" in server.capabilities
    if renders or server.name.lower() in RENDERS_ANYWAY:
        return escape(text, quote=False)
    return text


@implementer(ISink)
@define(eq=False, repr=False)
class Freedesktop:
    """
    Shows desktop notifications.

    When there is no bus or no server at the start, it is no target; it becomes one as
    soon as a server appears, and from then on is only ``up`` or ``down``.  A mute
    server is asked again, less and less often.
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

    _desktop: INotifications
    _icons: IconFiles
    _clock: IReactorTime
    _desktop_entry: str = ""
    has_started: bool = field(default=False, init=False)
    _unwatch: Callable[[], None] = field(default=lambda: None, init=False)
    _following: Deferred[None] | None = field(default=None, init=False)
    _change: Deferred[None] = field(factory=Deferred, init=False)

    _log: ClassVar[Logger] = Logger()

    def start(self) -> Deferred[None]:
        """See ``ISink``."""
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> None:
        self._icons.open()
        try:
            await self._desktop.find()
        except CancelledError:
            self._follow()
            raise
        except DesktopError as e:
            self._follow()
            raise SinkError(str(e)) from None
        self.has_started = True

    def _follow(self) -> None:
        """Become a target, even late, when a server that answers appears."""
        self._unwatch = self._desktop.watch(self._health_changed)
        self._following = Deferred.fromCoroutine(self._become_target())
        self._following.addErrback(self._following_failed)

    async def _become_target(self) -> None:
        pause = DESKTOP_SECONDS
        while True:
            self._change = Deferred()
            if self.health() == Health.UP:
                # No signal shows when a mute server answers.
                self._change.addTimeout(pause, self._clock, lambda _, __: None)
                pause = min(2 * pause, SINK_RETRY_SECONDS)
            else:
                pause = DESKTOP_SECONDS
            await self._change
            if self.health() == Health.UP:
                with contextlib.suppress(DesktopError):
                    await self._desktop.find()
                    break
        self._unwatch()
        self.has_started = True
        self._log.info("sink {name} has started", name=self.name)

    def _health_changed(self, _: str) -> None:
        if not self._change.called:
            self._change.callback(None)

    def _following_failed(self, failure: Failure) -> None:
        if failure.check(CancelledError) is None:
            self._log.failure("sink {name} failed", failure, name=self.name)

    def health(self) -> Health:
        """See ``ISink``."""
        return Health.UP if self._desktop.health == "up" else Health.DOWN

    def deliver(self, notification: Notification) -> Deferred[None]:
        """See ``ISink``."""
        if not self.has_started:
            raise UnavailableError("it has not started, or has ended")
        return Deferred.fromCoroutine(self._deliver(notification))

    async def _deliver(self, notification: Notification) -> None:
        try:
            server = await self._desktop.find()
            picture = await self._picture(notification)
            shown = note(notification, server, picture, self._desktop_entry)
            await self._desktop.show(shown)
        except DesktopError as e:
            raise UnavailableError(str(e)) from None

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
        """See ``ISink``."""
        if self._following is not None and not self._following.called:
            self._following.cancel()
            self._unwatch()
        self.has_started = False
        self._icons.close()


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
        urgency=_URGENCY[notification.urgency],
        suppress_sound=notification.sound is False,
        image_path=picture,
        desktop_entry=entry,
        # 0 would mean that it never goes.
        expire_ms=DEFAULT_MS if timeout is None else max(1, round(timeout * 1000)),
    )
