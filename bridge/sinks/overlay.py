"""
The ``overlay`` sink: datagrams to a VR overlay that speaks as XSOverlay does.

One compact UTF-8 JSON object a datagram.  The known readers decide the bytes:

* WayVR and wlx-overlay-s (``notifications.rs``) read with serde into typed fields: a
  float for ``messageType``, or a number for a truth, loses the notification.  A
  ``timeout`` of 0 is shown for no time at all, and any ``volume``, 0 too, plays a
  sound; so both are left out where they are not meant.  Their buffer has 16384 bytes.
* XSOverlay (its documentation of the UDP API) plays nothing when ``audioPath`` is
  empty, and takes for ``icon`` a name of its own or, with ``useBase64Icon``, raw
  base64 without a ``data:`` prefix.

Readers never answer, so their health is unknown.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from attrs import field
from twisted.internet.error import CannotListenError, MessageLengthError
from twisted.internet.protocol import DatagramProtocol
from twisted.logger import Logger

from ..classes import define
from ..protocol.limits import OVERLAY_BYTES, OVERLAY_SMALL_BYTES
from ..protocol.strictjson import dumps
from ..settings.values import Address
from .fanout import (
    FIELDS,
    SOUNDS,
    Health,
    Notification,
    RejectedError,
    UnavailableError,
)

VOLUME: Final = 0.7
"""The volume of a requested sound, when none was given."""


def panel(notification: Notification) -> dict[str, Any]:
    """Return the fields of XSOverlay's notifications; absent is what was not given."""
    n = notification
    fields = {
        "title": n.title,
        "content": n.content or None,
        "timeout": n.timeout,
        **_sound(n),
        **_icon(n),
        "height": n.height,
        "opacity": n.opacity,
        "sourceApp": n.source_app,
        "alwaysShow": n.always_show,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _sound(n: Notification) -> dict[str, Any]:
    if n.is_muted:
        return {"audioPath": ""}
    if not n.sound:
        return {"volume": n.volume, "audioPath": n.audio_path}
    return {
        "volume": VOLUME if n.volume is None else n.volume,
        "audioPath": SOUNDS[0] if n.audio_path is None else n.audio_path,
    }


def _icon(n: Notification) -> dict[str, Any]:
    if n.image:
        return {"useBase64Icon": True, "icon": n.image}
    # Any other name would be taken for a path.
    return {"icon": n.icon if n.icon in SOUNDS else None}


def datagram(notification: Notification) -> bytes:
    """
    Write a notification as the overlay reads it.

    :raise RejectedError: It does not fit into a datagram.
    """
    text = dumps({"messageType": 1, **panel(notification)})
    if len(text) > OVERLAY_BYTES:
        raise RejectedError(f"more than {OVERLAY_BYTES} bytes; the icon is too large")
    return text


@define(eq=False, repr=False)
class Overlay(DatagramProtocol):
    """Sends datagrams; the port is not connected, or the first refusal would end it."""

    name: ClassVar[str] = "overlay"
    honours: ClassVar[tuple[str, ...]] = tuple(f for f in FIELDS if f != "urgency")

    _reactor: Any
    _address: Address
    noisy: bool = field(default=False, init=False)
    _port: Any = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    @property
    def description(self) -> str:
        return f"a VR overlay that speaks as XSOverlay does, by UDP to {self._address}"

    @property
    def has_started(self) -> bool:
        """See ``Sink``."""
        return self._port is not None

    def start(self) -> None:
        own = "::1" if ":" in self._address.host else "127.0.0.1"
        try:
            self._port = self._reactor.listenUDP(0, self, interface=own)
        except CannotListenError:
            raise UnavailableError("no port to send from") from None
        # Readers never answer, and others could send without end.
        self._port.stopReading()

    def health(self) -> Health:
        """See ``Sink``; a look at the port could take it from the overlay."""
        return Health.UNKNOWN

    def deliver(self, notification: Notification) -> None:
        text = datagram(notification)
        if len(text) > OVERLAY_SMALL_BYTES:
            self._log.debug(
                "a notification of {size} bytes: some overlays lose it", size=len(text)
            )
        if self._port is None:
            raise UnavailableError("it has ended")
        try:
            self._port.write(text, (self._address.host, self._address.port))
        except MessageLengthError:
            # Some systems send less than a datagram may hold: macOS 9216 bytes.
            raise RejectedError("longer than this system's datagrams") from None
        except OSError:
            raise UnavailableError("the datagram could not be sent") from None

    def close(self) -> Any:
        port, self._port = self._port, None
        return None if port is None else port.stopListening()
