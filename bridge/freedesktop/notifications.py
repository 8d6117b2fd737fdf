"""
The client of ``org.freedesktop.Notifications``, the desktop's notification server.

Specification: Desktop Notifications 1.2,
https://specifications.freedesktop.org/notification-spec/1.2/protocol.html
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Final

from attrs import evolve, field
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define, frozen
from ..protocol.limits import DESKTOP_SECONDS, WITHDRAW_SECONDS
from .bus import Bus
from .connection import (
    BUS,
    Byte,
    DesktopError,
    RemoteInterface,
    SessionBusConnection,
)

SERVICE: Final = "org.freedesktop.Notifications"
REMOTE: Final = RemoteInterface(SERVICE, "/org/freedesktop/Notifications", SERVICE)
# Of the reasons of NotificationClosed the one that is the server's own.
_EXPIRED: Final = 1
_MAX_ID: Final = 2**32 - 1
# More than are closed at once, as by somebody who clears them all.
_EARLY_NOTES: Final = 1024

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


@define(eq=False, repr=False)
class Notifications:
    """
    The notifications of the session bus.

    A signal counts only when the server that shows the note sent it: any program on
    the bus can send one, to anybody, under any interface.

    :ivar environ: See ``Bus``.
    :ivar server: The server that was last asked what it can do, while it is there.
    :ivar changed: Called when ``health`` has changed.
    """

    _reactor: Any
    _environ: Mapping[str, str]
    server: Server | None = field(default=None, init=False)
    _has_looked: bool = field(default=False, init=False)
    _can_be_started: bool = field(default=False, init=False)
    _owner: str = field(default="", init=False)
    _open: dict[tuple[str, int], Deferred[str | None]] = field(factory=dict, init=False)
    changed: Callable[[], object] = field(default=lambda: None, init=False)
    # The questions that are on their way, and the keys of their buttons.
    _asking: dict[Deferred[None], set[str]] = field(factory=dict, init=False)
    # How notes ended meanwhile.
    _early: dict[tuple[str, int], str | int] = field(factory=dict, init=False)
    # Those whose server was asked to close them, and has not yet said that it has.
    _closing: deque[tuple[str, int]] = field(
        factory=lambda: deque(maxlen=_EARLY_NOTES), init=False
    )
    _bus: Bus = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._bus = Bus(self._reactor, self._environ, self)

    @property
    def health(self) -> str:
        """``up`` while a notification server is there, else ``down``."""
        return "up" if self._owner else "down"

    @property
    def is_expected(self) -> bool:
        """Whether one may come: none was looked for yet, or the bus can start one."""
        return self._can_be_started or not self._has_looked

    def start(self) -> None:
        """Connect to the bus, and stay connected."""
        self._bus.start()

    def close(self) -> Deferred[None]:
        """
        Close the connection to the bus.

        A question that was withdrawn before its server has answered could stay on the
        screen for good; that answer is waited for, within ``WITHDRAW_SECONDS``.
        """
        asked: Deferred[Any] = DeferredList(self._asking)
        asked.addTimeout(WITHDRAW_SECONDS, self._reactor, lambda _, __: None)
        return asked.addCallback(lambda _: self._bus.close())

    def look(self) -> Deferred[None]:
        """
        Look for a server without starting one.

        One that is started before its display is there ends, and keeps the bus from
        starting another for two minutes, in which no program can show a notification.

        :return: Fires when one answers, or could be started; fails with
            ``DesktopError`` within five seconds.
        """
        return self._in_time(self._look()).addBoth(self._looked)

    def find(self) -> Deferred[Server]:
        """
        Return the current server; without one, ask the bus to start it.

        :return: Fails with ``DesktopError`` within five seconds.
        """
        return self._in_time(self._find()).addBoth(self._looked)

    def _looked(self, result: Any) -> Any:
        self._has_looked = True
        return result

    def show(self, note: Note) -> Deferred[None]:
        """
        Show a note.

        :return: Fires when a server has taken it; fails with ``DesktopError``.
        """
        return self._in_time(self._show(note))

    def _in_time(self, asking: Coroutine[Deferred[Any], Any, Any]) -> Deferred[Any]:
        return Deferred.fromCoroutine(asking).addTimeout(
            DESKTOP_SECONDS, self._reactor, lambda _, __: Failure(_no_server())
        )

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
        answer: Deferred[str | None] = Deferred(self._withdraw)
        asking = Deferred.fromCoroutine(self._ask(note, actions, answer))
        asking.addErrback(_fail, answer)
        self._asking[asking] = {key for key, _ in actions}
        asking.addBoth(lambda _: self._asked(asking))
        return answer

    async def joined(self, link: SessionBusConnection) -> None:
        """Follow the owner of the server's name; see ``bridge.freedesktop.bus``."""
        for rule in (
            f"type='signal',sender='{BUS.destination}',path='{BUS.path}',"
            f"interface='{BUS.interface}',member='NameOwnerChanged',arg0='{SERVICE}'",
            f"type='signal',sender='{SERVICE}',path='{REMOTE.path}',"
            f"interface='{SERVICE}'",
        ):
            await link.call(BUS, "AddMatch", "s", [rule])
        (names,) = await link.call(BUS, "ListActivatableNames")
        self._can_be_started = SERVICE in names
        self._own(await _owner(link))

    def received(self, signal: Any) -> None:
        """Receive a signal; anybody may have sent it."""
        server = _remote(self._owner)
        if BUS.sent(signal, "NameOwnerChanged", "sss"):
            name, _, owner = signal.body
            if name == SERVICE:
                self._own(owner)
        elif server.sent(signal, "ActionInvoked", "us"):
            number, choice = signal.body
            self._ended((self._owner, number), choice)
        elif server.sent(signal, "NotificationClosed", "uu"):
            number, reason = signal.body
            self._ended((self._owner, number), reason)

    def lost(self) -> None:
        """Handle the loss of the bus."""
        self._can_be_started = False
        self._own("")

    async def _look(self) -> None:
        await self._bus.connected()
        if self._owner:
            await self._find()
        elif not self._can_be_started:
            raise _no_server()

    async def _find(self) -> Server:
        link = await self._bus.connected()
        if not self._owner:
            await self._have_one_started(link)
        owner = self._owner
        if self.server is None:
            remote = _remote(owner)
            capabilities = await link.call(remote, "GetCapabilities")
            described = await link.call(remote, "GetServerInformation")
            server = _server(owner, capabilities, described)
            if owner != self._owner:
                raise _gone()
            self.server = server
        return self.server

    async def _have_one_started(self, link: SessionBusConnection) -> None:
        # Refused when there is none to start; one may run by now all the same.
        with contextlib.suppress(DesktopError):
            await link.call(BUS, "StartServiceByName", "su", [SERVICE, 0])
        self._own(await _owner(link))
        if not self._owner:
            raise _no_server()

    async def _show(self, note: Note) -> None:
        server = await self.find()
        link = await self._bus.connected()
        await _notify(link, server, note, ())

    async def _ask(
        self,
        note: Note,
        actions: Sequence[tuple[str, str]],
        answer: Deferred[str | None],
    ) -> None:
        """Show a question; goes on until it is shown, or closed if that is too late."""
        server = await self.find()
        if "actions" not in server.capabilities:
            raise DesktopError("the notification server shows no buttons")
        link = await self._bus.connected()
        if answer.called:
            return
        late = self._reactor.callLater(DESKTOP_SECONDS, _fail, _no_server(), answer)
        try:
            number = _id(await _notify(link, server, note, actions))
        finally:
            if late.active():
                late.cancel()
        self._shown((server.owner, number), answer)

    def _asked(self, asking: Deferred[None]) -> None:
        del self._asking[asking]
        if not self._asking:
            self._early.clear()

    def _shown(self, note: tuple[str, int], answer: Deferred[str | None]) -> None:
        """Keep a question that is on the screen, or close it if that is too late."""
        if answer.called or note[0] != self._owner:
            self._close(*note)
            raise _gone()
        self._open[note] = answer
        if note in self._early:
            self._ended(note, self._early.pop(note))

    def _withdraw(self, answer: Deferred[str | None]) -> None:
        for key, waiting in list(self._open.items()):
            if waiting is answer:
                del self._open[key]
                self._close(*key)

    def _ended(self, note: tuple[str, int], how: str | int) -> None:
        """End a question by the choice that was made, or the reason of its close."""
        answer = self._open.pop(note, None)
        if answer is None:
            if self._is_early(note, how) and len(self._early) < _EARLY_NOTES:
                self._early.setdefault(note, how)
        elif isinstance(how, str):
            # Some servers leave a note standing whose button was pressed.
            self._close(*note)
            answer.callback(how)
        elif how == _EXPIRED:
            answer.errback(QuestionExpiredError("the notification server took it away"))
        else:
            answer.callback(None)

    def _is_early(self, note: tuple[str, int], how: str | int) -> bool:
        """
        Whether a question may have ended that its server has yet to say the number of.

        A server may use numbers again: what it says of an earlier question is none.
        """
        if isinstance(how, str):
            return any(how in keys for keys in self._asking.values())
        if note in self._closing:
            self._closing.remove(note)
            return False
        return bool(self._asking)

    def _close(self, owner: str, number: int) -> None:
        if self._bus.link is not None:
            self._closing.append((owner, number))
            self._bus.link.send(_remote(owner), "CloseNotification", "u", [number])

    def _own(self, owner: str) -> None:
        """Use ``owner`` as the server; what another one shows is lost."""
        if owner == self._owner:
            return
        before, self._owner, self.server = self.health, owner, None
        lost, self._open = self._open, {}
        for note, answer in lost.items():
            # A server that only lost its name still shows it.
            self._close(*note)
            answer.errback(_gone())
        if before != self.health:
            self._log.info("desktop: notifications are {health}", health=self.health)
            self.changed()


async def _owner(link: SessionBusConnection) -> str:
    """Return the owner of the server's name; empty without one."""
    (exists,) = await link.call(BUS, "NameHasOwner", "s", [SERVICE])
    if not exists:
        return ""
    (owner,) = await link.call(BUS, "GetNameOwner", "s", [SERVICE])
    return str(owner)


def _fail(error: DesktopError | Failure, answer: Deferred[str | None]) -> None:
    if not answer.called:
        answer.errback(error)


def _server(
    owner: str, capabilities: tuple[Any, ...], described: tuple[Any, ...]
) -> Server:
    match capabilities, described:
        case ([*names],), (str(name), _, str(version), *_):
            listed = frozenset(name for name in names if isinstance(name, str))
            return Server(owner, name, version, listed)
    raise _invalid_reply()


def _id(result: tuple[Any, ...]) -> int:
    match result:
        # 0 is no note's id: the specification reserves it.
        case (int(number),) if type(number) is int and 0 < number <= _MAX_ID:
            return number
    raise _invalid_reply()


def _remote(owner: str) -> RemoteInterface:
    return evolve(REMOTE, destination=owner)


def _no_server() -> DesktopError:
    return DesktopError("no notification server answers")


def _gone() -> DesktopError:
    return DesktopError("the notification server is gone")


def _invalid_reply() -> DesktopError:
    return DesktopError("the answer of the notification server is invalid")


def _notify(
    link: SessionBusConnection,
    server: Server,
    note: Note,
    actions: Sequence[tuple[str, str]],
) -> Deferred[tuple[Any, ...]]:
    """
    Have a server show a note; only what is given is sent.

    :param actions: The key and the label of each button.
    """
    hints: dict[str, Any] = {"urgency": Byte(note.urgency)}
    if note.suppress_sound:
        hints["suppress-sound"] = True
    if note.image_path:
        hints["image-path"] = note.image_path
    if note.desktop_entry:
        hints["desktop-entry"] = note.desktop_entry
    return link.call(
        _remote(server.owner),
        "Notify",
        "susssasa{sv}i",
        [
            note.application,
            0,
            note.icon,
            note.summary,
            note.body,
            [text for action in actions for text in action],
            hints,
            note.expire_ms,
        ],
    )
