"""
Stands between a hostile server and the client's parser, and bounds its input.

Twisted's parser takes a head of any size and any number of interim ones, and logs each
of those; it accepts any word as a protocol.  Only one plain head, and then a body, pass
this guard.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from ..protocol import limits
from ..protocol.errors import BridgeError, unavailable

# Heads and chunks are read in small pieces: a reactor's turn is over sooner when they
# are hard to parse.  A body that only has a length is not parsed at all.
_READ_BYTES = 8 * 1024
_READ_BYTES_OF_A_BODY = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5])[0-9]{2}(?: [^\r\n]*)?\r?\n")
# Exactly where Twisted's parser sees the end of a head.
_END = re.compile(rb"\n\r?\n")
_TOO_LARGE = "the head of the response is too large"

Count = Callable[[int], object]
"""Receives how many bytes have come; may raise ``BridgeError`` to break off."""


class Guarded(Protocol):
    """
    One connection, and the client's protocol behind it.

    :ivar inner: The client's protocol.
    :ivar refusal: Why the connection was broken off, when it was broken off here.
    :ivar orderly: Whether it was closed as one does at an end; ``None`` until it is.
    :ivar closed: Fires when the connection has closed.
    """

    def __init__(self, inner: Any, count: Count) -> None:
        self.inner = inner
        self._count = count
        self.refusal: BridgeError | None = None
        self.orderly: bool | None = None
        self.closed: Deferred[None] = Deferred()
        self._head: bytearray | None = bytearray()
        self._interim = 0

    def connectionMade(self) -> None:
        """Connect the client's protocol."""
        self._read_in(_READ_BYTES)
        self.inner.makeConnection(self.transport)

    def dataReceived(self, data: bytes) -> None:
        """Check what is received, and pass it on."""
        if self.refusal is not None:
            return
        try:
            self._count(len(data))
        except BridgeError as refusal:
            self._break_off(refusal)
            return
        if self._head is None:
            self.inner.dataReceived(data)
            self._check_chunk()
        else:
            searched = max(len(self._head) - 2, 0)
            self._head += data
            self._read_heads(self._head, searched)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Notify the client's protocol, and fire ``closed``."""
        self.orderly = reason.check(ConnectionDone) is not None
        self.inner.connectionLost(reason)
        self.closed.callback(None)

    def expect_head(self) -> None:
        """Get ready for another response over the same connection."""
        self._head = bytearray()
        self._interim = 0
        if self.orderly is None:
            self._read_in(_READ_BYTES)

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come of the response that is expected."""
        return self._head is not None and not self._head

    def abort(self) -> None:
        """Close the connection now; does nothing if it is closed."""
        transport: Any = self.transport
        if self.orderly is None:
            transport.abortConnection()

    def _read_heads(self, head: bytearray, searched: int) -> None:
        while (end := _END.search(head, searched)) is not None:
            status = _STATUS.match(head)
            rule = _broken_rule(head[: end.end()], status)
            if status is None or rule:
                self._refuse(rule)
                return
            if status[1] != b"1":
                self._pass_on(head)
                return
            self._interim += 1
            if self._interim > limits.OUTBOUND_INTERIM_HEADS:
                self._refuse("too many interim responses")
                return
            del head[: end.end()]
            searched = 0
        if len(head) > limits.OUTBOUND_HEAD_BYTES:
            self._refuse(_TOO_LARGE)

    def _check_chunk(self) -> None:
        """Refuse a chunk that is too large at the line that says so."""
        # Twisted's parser keeps to itself what it is about to receive.
        parser = getattr(self.inner, "_parser", None)
        length = getattr(getattr(parser, "bodyDecoder", None), "length", 0)
        if length > limits.OUTBOUND_RECEIVED_BYTES:
            self._refuse(f"a chunk of more than {limits.OUTBOUND_RECEIVED_BYTES} bytes")

    def _read_in(self, size: int) -> None:
        transport: Any = self.transport
        # Of TLS, the transport below it reads.
        getattr(transport, "transport", transport).bufferSize = size

    def _pass_on(self, head: bytearray) -> None:
        self._head = None
        if b"transfer-encoding" not in head.lower():
            self._read_in(_READ_BYTES_OF_A_BODY)
        self.inner.dataReceived(bytes(head))
        self._check_chunk()

    def _refuse(self, rule: str) -> None:
        self._break_off(unavailable(f"the server's answer: {rule}"))

    def _break_off(self, refusal: BridgeError) -> None:
        self.refusal = refusal
        self.abort()


def _broken_rule(head: bytearray, status: re.Match[bytes] | None) -> str:
    """Return what is wrong with a head; empty when nothing is."""
    if len(head) > limits.OUTBOUND_HEAD_BYTES:
        return _TOO_LARGE
    lines = head.split(b"\n")
    if max(map(len, lines)) > limits.OUTBOUND_HEAD_LINE_BYTES:
        return (
            f"a line of its head has more than {limits.OUTBOUND_HEAD_LINE_BYTES} bytes"
        )
    if status is None or len(lines) > limits.OUTBOUND_HEAD_LINES + 1:
        return "the head of the response is not usable"
    return ""


class GuardedFactory(Factory):
    """Guards what another factory builds."""

    noisy = False

    def __init__(self, build: Callable[[Any], Any], count: Count) -> None:
        self._build = build
        self._count = count

    def buildProtocol(self, addr: IAddress | None) -> Guarded:
        """Build a protocol behind a guard."""
        return Guarded(self._build(addr), self._count)
