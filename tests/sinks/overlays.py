"""
Two overlays, as strict about a datagram as the real ones are.

``WayVR`` reads as serde does into the struct of ``notifications.rs``; ``XSOverlay`` as
its documentation of the UDP API has it. Both return what they would show.
"""

import base64
import struct
from typing import Any

from attrs import define, field, frozen
from twisted.internet.defer import DeferredQueue
from twisted.internet.protocol import DatagramProtocol

from bridge.protocol.strictjson import loads_unique

BUFFER_BYTES = 16_384


# What an overlay would not show, and log where nobody reads, is an AssertionError.


def i32(value: Any) -> int:
    """Read a whole number; ``1.0`` is none."""
    assert type(value) is int and -(2**31) <= value < 2**31
    return value


def f32(value: Any) -> float:
    """Read a number."""
    assert type(value) in (int, float)
    return float(struct.unpack("f", struct.pack("f", value))[0])


def string(value: Any) -> str:
    """Read a string."""
    assert type(value) is str
    return value


def truth(value: Any) -> bool:
    """Read a boolean."""
    assert type(value) is bool
    return value


FIELDS = {
    "messageType": i32,
    "index": i32,
    "volume": f32,
    "audioPath": string,
    "timeout": f32,
    "title": string,
    "content": string,
    "icon": string,
    "height": f32,
    "opacity": f32,
    "useBase64Icon": truth,
    "sourceApp": string,
    "alwaysShow": truth,
}


def fields(datagram: bytes) -> dict[str, Any]:
    """Read every field that either overlay knows; others are ignored."""
    value = loads_unique(datagram)
    assert value["messageType"] is not None and value["title"] is not None
    return {
        name: kind(value[name])
        for name, kind in FIELDS.items()
        if value.get(name) is not None
    }


@frozen
class Toast:
    """
    What would be seen and heard.

    :ivar opened: The file the overlay would open for it.
    """

    title: str
    content: str
    seconds: float
    has_sound: bool
    icon: Any = None
    opened: str | None = None
    height: float | None = None
    from_: str = ""


def wayvr(datagram: bytes) -> Toast:
    """Show as WayVR and wlx-overlay-s do."""
    given = fields(datagram[:BUFFER_BYTES])
    assert given["messageType"] == 1, "ignored"
    seconds = given.get("timeout", 5.0)
    assert 0 < seconds < 2**63, "destroyed at once"
    return Toast(
        given["title"] or "Notification",
        given.get("content", ""),
        seconds,
        given.get("volume", -1.0) >= 0,
    )


def xsoverlay(datagram: bytes) -> Toast:
    """Show as XSOverlay does, when it is sent datagrams."""
    return panel(fields(datagram))


def panel(given: dict[str, Any]) -> Toast:
    """Show as XSOverlay does."""
    assert given["messageType"] == 1, "ignored"
    icon, opened = given.get("icon", "default"), None
    if given.get("useBase64Icon"):
        icon = base64.b64decode(icon, validate=True)
    elif icon not in ("", "default", "error", "warning"):
        opened = icon
    sound = given.get("audioPath", "")
    if sound not in ("", "default", "error", "warning"):
        opened = sound
    return Toast(
        given["title"],
        given.get("content", ""),
        given.get("timeout", 0.5),
        sound != "" and given.get("volume", 0.7) > 0,
        icon,
        opened,
        given.get("height", 175.0),
        given.get("sourceApp", ""),
    )


@define(eq=False)
class Listener(DatagramProtocol):
    """Receives whole datagrams on a port."""

    noisy: bool = False
    got: DeferredQueue[bytes] = field(factory=DeferredQueue)

    def datagramReceived(self, datagram, address):
        self.got.put(datagram)

    @classmethod
    def listen(cls, reactor, test, interface="127.0.0.1"):
        """Listen until the test ends; gives the protocol and the port's number."""
        protocol = cls()
        port = reactor.listenUDP(0, protocol, interface=interface, maxPacketSize=65535)
        test.addCleanup(port.stopListening)
        return protocol, port.getHost().port
