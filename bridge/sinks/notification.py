"""
Notifications: as a caller writes them, and as a sink receives them.

``Message`` is what a caller may write; ``Patch`` is what one target gets instead.
The rules of their fields stand in the annotations.  ``notification`` makes the
``Notification`` that a sink receives.
"""

from __future__ import annotations

import base64
import re
from typing import Annotated, Any, Final, TypeVar

from attrs import evolve, fields

from ..classes import frozen
from ..concurrency.shares import Holder
from ..protocol import limits
from ..protocol.errors import bad_request
from ..protocol.wire import PARTIAL, Check, Range, Text, camel, one_of, patterns, whole

M = TypeVar("M", bound="Message")

SOUNDS: Final = ("default", "error", "warning")
"""The sounds, and the icons, every overlay knows by name."""

SHORTEST_SECONDS: Final = 0.001
"""A shorter time becomes the target's default: no target can show it."""

_NAME: Final = re.compile(rf"[A-Za-z0-9._+-]{{1,{limits.NOTIFY_ICON_NAME_CHARACTERS}}}")
_IMAGES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


ICON: Final = Check(
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


SOUND: Final = Check(
    f"one of {', '.join(SOUNDS)}, or empty",
    patterns(whole(f" *(?:{'|'.join(SOUNDS)})? *")),
    lambda text: not text.isprintable() or text.strip() not in (*SOUNDS, ""),
)
"""A sound every overlay knows, or nothing; never a path, as ``ICON``."""

Title = Annotated[
    str, Text(limits.NOTIFY_TITLE_CHARACTERS, least=1, control=False, blank=False)
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
            str, Text(limits.NOTIFY_CONTENT_CHARACTERS, control=False, lines=True)
        ]
        | None
    ) = None
    timeout_secs: Annotated[float, Range(0, limits.NOTIFY_TIMEOUT_SECONDS)] | None = (
        None
    )
    icon: Annotated[str, ICON] | None = None
    use_base64_icon: bool | None = None
    source_app: (
        Annotated[str, Text(limits.NOTIFY_SOURCE_CHARACTERS, control=False)] | None
    ) = None
    sound: bool | None = None
    volume: Annotated[float, Range(0, 1)] | None = None
    audio_path: Annotated[str, SOUND] | None = None
    height: (
        Annotated[float, Range(limits.NOTIFY_LEAST_HEIGHT, limits.NOTIFY_MOST_HEIGHT)]
        | None
    ) = None
    opacity: Annotated[float, Range(0, 1)] | None = None
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
