"""
Notifications, and the sinks: started, delivered to, and closed.

``Message`` is what a caller may write; ``Patch`` is what one target gets instead.
``notification`` makes the ``Notification`` that a sink receives.

A sink that fails or hangs is a reason, and never more: each has its own deadline.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Final, Protocol, TypeVar

from attrs import evolve, field, fields
from twisted.internet.defer import (
    CancelledError,
    Deferred,
    gatherResults,
    maybeDeferred,
)
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define, frozen
from ..concurrency.shares import Holder
from ..protocol import limits
from ..protocol.errors import WireString, bad_request
from ..protocol.wire import PARTIAL, Rule, between, camel, one_of, string, whole

M = TypeVar("M", bound="Message")

SOUNDS: Final = ("default", "error", "warning")
"""The sounds, and the icons, every overlay knows by name."""

SHORTEST_SECONDS: Final = 0.001
"""A shorter time becomes the target's default: no target can show it."""

_NAME: Final = re.compile(rf"[A-Za-z0-9._+-]{{1,{limits.NOTIFY_ICON_NAME_CHARACTERS}}}")
_IMAGES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


ICON: Final = Rule(
    f"a name of at most {limits.NOTIFY_ICON_NAME_CHARACTERS} characters of "
    "A-Z a-z 0-9 . _ + -, or with useBase64Icon the base64 of a PNG, JPEG or "
    f"GIF, at most {limits.NOTIFY_ICON_CHARACTERS} characters",
    {"maxLength": limits.NOTIFY_ICON_CHARACTERS, PARTIAL: True},
    lambda text: len(text) > limits.NOTIFY_ICON_CHARACTERS or not text.isprintable(),
)
"""
The name of an icon or, with ``useBase64Icon``, an image in base64; or nothing.

Never a path: the program that shows the notification would open it, so a plugin could
probe for files and, on Windows, have credentials sent to a share.

Which of the two it is depends on another field, which a patch may change; so
``notification`` checks that part.
"""


def is_icon(text: str, is_image: bool) -> bool:
    """Whether ``text``, without spaces around it, is such an icon."""
    if not text:
        return True
    return _is_image(text) if is_image else _NAME.fullmatch(text) is not None


def _is_image(text: str) -> bool:
    try:
        return base64.b64decode(text, validate=True).startswith(_IMAGES)
    except ValueError:
        return False


SOUND: Final = Rule(
    f"one of {', '.join(SOUNDS)}, or empty",
    {"pattern": whole(f" *(?:{'|'.join(SOUNDS)})? *")},
    lambda text: not text.isprintable() or text.strip() not in (*SOUNDS, ""),
)
"""A sound every overlay knows, or nothing; never a path, as ``ICON``."""

Title = Annotated[
    str, string(limits.NOTIFY_TITLE_CHARACTERS, least=1, control=False, blank=False)
]


@frozen(kw_only=True, eq=False, repr=False)
class Patch:
    """
    What one target gets instead; what is absent or null stays as it is.

    :ivar title: The first line.
    :ivar content: The text below it.
    :ivar timeout_secs: Seconds to show it; 0 is the target's default.
    :ivar icon: An icon's name, or with ``useBase64Icon`` an image; empty is none.
    :ivar use_base64_icon: Whether ``icon`` is an image.
    :ivar source_app: The sender's name; the host application by default.
    :ivar sound: Whether to play a sound; the target decides by default.
    :ivar volume: How loud; 0 is muted.
    :ivar audio_path: Which sound; empty is none.
    :ivar height: Height of the overlay's panel.
    :ivar opacity: Opacity of the overlay's panel.
    :ivar urgency: How important it is; ``normal`` by default.
    :ivar always_show: Whether the overlay shows it even where it would not.
    """

    title: Title | None = None
    content: (
        Annotated[
            str, string(limits.NOTIFY_CONTENT_CHARACTERS, control=False, lines=True)
        ]
        | None
    ) = None
    timeout_secs: Annotated[float, between(0, limits.NOTIFY_TIMEOUT_SECONDS)] | None = (
        None
    )
    icon: Annotated[str, ICON] | None = None
    use_base64_icon: bool | None = None
    source_app: (
        Annotated[str, string(limits.NOTIFY_SOURCE_CHARACTERS, control=False)] | None
    ) = None
    sound: bool | None = None
    volume: Annotated[float, between(0, 1)] | None = None
    audio_path: Annotated[str, SOUND] | None = None
    height: (
        Annotated[float, between(limits.NOTIFY_LEAST_HEIGHT, limits.NOTIFY_MOST_HEIGHT)]
        | None
    ) = None
    opacity: Annotated[float, between(0, 1)] | None = None
    urgency: Annotated[str, one_of(("low", "normal", "critical"))] | None = None
    always_show: bool | None = None


def title_first(_: type, attributes: list[Any]) -> list[Any]:
    """Put the title before what a class inherits: it is read, and documented, first."""
    return sorted(attributes, key=lambda attribute: attribute.name != "title")


@frozen(kw_only=True, field_transformer=title_first)
class Message(Patch):
    """
    A notification as a caller writes it.

    :ivar title: The first line.
    """

    title: Title


FIELDS: Final = tuple(camel(a.name) for a in fields(Patch))
"""Every field of a notification, as the wire spells it."""


@frozen(kw_only=True, eq=False, repr=False)
class Notification:
    """
    A notification that may be shown as it is.

    ``None`` is what was not given: each target has a default.

    :ivar timeout: In seconds, at least a millisecond.
    :ivar icon: The name of an icon, or empty.
    :ivar image: The base64 of a PNG, JPEG or GIF of unknown quality, or empty.
    :ivar is_muted: No sound was asked for.
    :ivar sender: Who sends it; what takes long is done in turns.
    """

    title: str
    content: str
    source_app: str
    timeout: float | None = None
    icon: str = ""
    image: str = ""
    urgency: str = "normal"
    is_muted: bool = False
    sound: bool | None = None
    volume: float | None = None
    audio_path: str | None = None
    height: float | None = None
    opacity: float | None = None
    always_show: bool | None = None
    sender: Holder | None = None


def patched(base: M, patch: Patch) -> M:
    """Return ``base`` with what ``patch`` has instead."""
    given = {a.name: getattr(patch, a.name) for a in fields(Patch)}
    return evolve(base, **{k: v for k, v in given.items() if v is not None})


def notification(
    message: Message, application: str, sender: Holder | None = None
) -> Notification:
    """
    Make the notification of a message whose fields keep their rules.

    :param application: The sender's name, when the caller gives none.
    :param sender: See ``Notification``.
    :raise BridgeError: ``bad_request``: the icon does not match ``useBase64Icon``.
    """
    is_image = bool(message.use_base64_icon)
    timeout, icon = message.timeout_secs or 0, (message.icon or "").strip()
    if not is_icon(icon, is_image):
        raise bad_request(f"icon: {ICON.words}")
    return Notification(
        title=message.title.strip(),
        content=message.content or "",
        source_app=(message.source_app or "").strip() or application,
        timeout=timeout if timeout >= SHORTEST_SECONDS else None,
        icon="" if is_image else icon,
        image=icon if is_image else "",
        urgency=message.urgency or "normal",
        is_muted=message.sound is False or message.volume == 0,
        sound=message.sound,
        volume=message.volume,
        audio_path=None if message.audio_path is None else message.audio_path.strip(),
        height=message.height,
        opacity=message.opacity,
        always_show=message.always_show,
        sender=sender,
    )


class Health(WireString):
    """The state of a sink's other end."""

    UP = "up", "something is there and accepts notifications"
    UNKNOWN = "unknown", "its state cannot be known"
    DOWN = "down", "nothing is there now"


class UnavailableError(Exception):
    """Nothing was there to accept a notification; the message is ours."""


class RejectedError(Exception):
    """It was not accepted, or can't be sent; the message is ours."""


class Sink(Protocol):
    """Something that shows notifications."""

    @property
    def name(self) -> str:
        """Its name for callers and ``--sink``."""

    @property
    def description(self) -> str:
        """What it reaches; one line."""

    @property
    def honours(self) -> tuple[str, ...]:
        """The fields it uses, as the wire spells them."""

    @property
    def has_started(self) -> bool:
        """Whether it is a target: from its start on, or later."""

    def start(self) -> Deferred[None] | None:
        """
        Begin.

        :return: A Deferred, or ``None``.  Fails with ``UnavailableError`` when it
            can't be a target now; it may still become one by itself.
        """

    def health(self) -> Health:
        """Return its ``Health`` now; never waits."""

    def deliver(self, notification: Notification) -> Deferred[None] | None:
        """
        Show a ``Notification``.

        :return: A Deferred, or ``None``.  Fails with ``UnavailableError`` or
            ``RejectedError``.  Cancelled at the deadline.
        """

    def close(self) -> Deferred[Any] | None:
        """End, and release what is held; ``None`` or a Deferred."""


@define(eq=False, repr=False)
class Fanout:
    """
    The sinks of this daemon.

    :ivar sinks: In the order in which they are listed.
    """

    _clock: IReactorTime
    sinks: Sequence[Sink] = ()

    _waiting: set[Deferred[Any]] = field(factory=set, init=False)

    _log: ClassVar[Logger] = Logger()

    def targets(self) -> list[Sink]:
        """Return the sinks that have started."""
        return [sink for sink in self.sinks if sink.has_started]

    def start(self) -> Deferred[None]:
        """Start every sink; fires when each has started or was skipped."""
        starting = [self._start(sink) for sink in self.sinks]
        return gatherResults(starting).addCallback(lambda _: None)

    def _start(self, sink: Sink) -> Deferred[None]:
        def skipped(failure: Failure) -> None:
            if failure.check(CancelledError):
                return  # the daemon ends before the sink has started
            self._log.warn(
                "sink {name} is skipped: {why}", name=sink.name, why=self._why(failure)
            )

        return self._in_time(limits.SINK_START_SECONDS, sink.start).addErrback(skipped)

    def deliver(self, sink: Sink, notification: Notification) -> Deferred[str | None]:
        """
        Deliver a notification to a sink.

        :return: Fires, within seconds, with why it was not delivered; never fails.
        """
        delivering = self._in_time(limits.SINK_SECONDS, sink.deliver, notification)
        return delivering.addCallbacks(lambda _: None, self._why)

    def _why(self, failure: Failure) -> str:
        if failure.check(CancelledError):
            return "unavailable: it has ended"
        if failure.check(RejectedError):
            return f"rejected: {failure.getErrorMessage()}"
        if failure.check(UnavailableError):
            return f"unavailable: {failure.getErrorMessage()}"
        self._log.failure("a sink failed", failure)
        return "unavailable: it failed; see the daemon's log"

    def _in_time(
        self, seconds: float, ask: Callable[..., Any], *arguments: Any
    ) -> Deferred[Any]:
        """Call a sink; what takes longer is cancelled, and fails."""

        def ended(result: Any) -> Any:
            self._waiting.discard(answer)
            return result

        answer = maybeDeferred(ask, *arguments)
        self._waiting.add(answer)
        answer.addTimeout(seconds, self._clock, lambda _, __: _too_late())
        return answer.addBoth(ended)

    def close(self) -> Deferred[Any]:
        """End every sink, and cancel those that do not end."""

        def ended(failure: Failure) -> None:
            self._log.failure("a sink failed to close", failure)

        closing = gatherResults(
            [maybeDeferred(sink.close).addErrback(ended) for sink in self.sinks]
        )
        for waiting in list(self._waiting):
            waiting.cancel()
        return closing


def _too_late() -> Failure:
    return Failure(UnavailableError("no answer in time"))
