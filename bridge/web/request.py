"""
One HTTP request: its head is validated, its body read, and then it is answered.

Also the headers of every response, and the form of a refusal.

``bridge.web.site`` decides which endpoint answers; ``bridge.web.channel`` decides when
each step happens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from io import BytesIO
from types import MappingProxyType
from typing import Any, Final

from twisted.logger import Logger
from twisted.web.http import Request

from ..protocol import limits
from ..protocol.errors import BridgeError, Code, internal_error
from ..protocol.frames import error_fields
from ..protocol.strictjson import dumps

_log = Logger()
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp]://([^/?#]*)(.*)", re.DOTALL)


ALWAYS: Final[Mapping[bytes, bytes]] = MappingProxyType(
    {
        b"content-type": b"application/json",
        b"cache-control": b"no-store",
        b"connection": b"close",
        b"content-security-policy": b"default-src 'none'",
        b"cross-origin-resource-policy": b"same-origin",
        b"vary": b"Origin",
        b"x-content-type-options": b"nosniff",
    }
)
"""Nothing here is for a browser to keep, guess at, show or embed."""

_CORS: Final = {
    b"access-control-allow-methods": b"GET, POST, OPTIONS",
    b"access-control-allow-headers": b"content-type, authorization",
    b"access-control-max-age": b"600",
}


def phrase(status: int) -> bytes:
    """Return the reason phrase of a status; Twisted does not know the newer ones."""
    return HTTPStatus(status).phrase.encode("ascii")


def _refusal_headers(error: BridgeError) -> dict[bytes, bytes]:
    """Return the headers that only some refusals have."""
    if error.retry_after is None:
        return {}
    return {b"retry-after": b"%d" % error.retry_after}


def _refusal_body(error: BridgeError) -> bytes:
    """Return the body of a refusal."""
    return dumps({"ok": False, "error": error_fields(error)})


def last_refusal(error: BridgeError, more: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """
    Format the response to bytes that are not a request; the connection ends.

    :param more: Further headers.
    """
    body = _refusal_body(error)
    headers = {
        **ALWAYS,
        **_refusal_headers(error),
        b"content-length": b"%d" % len(body),
        **dict(more),
    }
    status = b"HTTP/1.1 %d %s\r\n" % (error.code.status, phrase(error.code.status))
    lines = [b"%s: %s\r\n" % header for header in headers.items()]
    return status + b"".join(lines) + b"\r\n" + body


class GuardedRequest(Request):
    """
    A request that is validated by its head, with a bounded body.

    :ivar path: Of the request target, as it was sent; without the query.
    :ivar length: Of the body, as declared; ``None`` when it comes in chunks.
    :ivar authority: Of the request target, ``None`` when that is not absolute.
    :ivar refusal: Why it is refused, as soon as that is known.
    :ivar prepath: Segments of the path that Klein has matched; ``postpath``: the rest.
    :ivar mapper: Klein's.
    """

    prepath: list[bytes]

    length: int | None
    authority: bytes | None
    refusal: BridgeError | None = None
    content: Any
    _answer: Callable[[GuardedRequest], None]

    def headReceived(  # noqa: N802
        self, method: bytes, target: bytes, version: bytes, length: int | None
    ) -> None:
        """Validate the head.  The body of a refused request is not kept."""
        self.method, self.clientproto, self.length = method, version, length
        self.authority, self.uri = split_target(target)
        self.path = self.uri.partition(b"?")[0]
        self.content = BytesIO()
        # Kept as sent: Klein wants text, and the path may not be UTF-8.
        text = self.path.decode("latin-1").encode("utf-8")
        self.prepath, self.postpath = [], text.removeprefix(b"/").split(b"/")
        site = self.channel.factory
        headers = dict(ALWAYS)
        origin = site.guard.allowed_origin(self.requestHeaders)
        if origin is not None:
            headers |= {b"access-control-allow-origin": origin, **_CORS}
        for name, value in headers.items():
            self.setHeader(name, value)
        try:
            self._answer = site.validate(self)
        except BridgeError as error:
            self.refusal = error

    @property
    def is_upgrade(self) -> bool:
        """Whether it asks for a WebSocket."""
        upgrade = self.requestHeaders.getRawHeaders(b"upgrade") or [b""]
        return bool(self.method == b"GET" and upgrade[0].lower() == b"websocket")

    def expects_continue(self) -> bool:
        """Whether the client waits for 100 Continue before it sends the body."""
        expected = self.requestHeaders.getRawHeaders(b"expect") or [b""]
        return bool(
            self.clientproto == b"HTTP/1.1" and expected[0].lower() == b"100-continue"
        )

    def handleContentChunk(self, data: bytes) -> None:
        """Keep a piece of the body, unless it is too large already."""
        if self.content.tell() + len(data) > limits.REST_BODY_BYTES:
            self.refusal = self.refusal or too_large()
        if self.refusal is None:
            self.content.write(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """
        Answer the request, whose body is here as far as it is wanted.

        Twisted's own would also read queries and forms, which no endpoint uses.
        """
        self.content.seek(0)
        if self.refusal is not None:
            self.finish_with(self.refuse(self.refusal))
            return
        try:
            self._answer(self)
        except BridgeError as error:
            self.finish_with(self.refuse(error))
        except Exception:  # noqa: BLE001
            _log.failure("a request failed")
            self.finish_with(self.refuse(internal_error()))

    def getRequestHostname(self) -> bytes:  # noqa: N802
        """Return a fixed name: no route depends on the client's Host header."""
        return b"localhost"

    def begin(self, status: int, body: bytes) -> bytes:
        """
        Begin a response.

        :return: Its body, which ``finish_with`` writes, or Klein.
        """
        self.setResponseCode(status, phrase(status))
        if body:
            self.setHeader(b"content-length", b"%d" % len(body))
        return body

    def refuse(self, error: BridgeError) -> bytes:
        """Begin a response that is a refusal; see ``begin``."""
        for name, value in _refusal_headers(error).items():
            self.setHeader(name, value)
        return self.begin(error.code.status, _refusal_body(error))

    def finish_with(self, body: bytes) -> None:
        """Answer with what ``begin`` or ``refuse`` has returned."""
        self.write(body)
        self.finish()


def split_target(target: bytes) -> tuple[bytes | None, bytes]:
    """
    Split an absolute request target (RFC 9112, section 3.2.2).

    :return: Its authority, ``None`` when it is not absolute; and the rest, as another
        client would have sent it.
    """
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        return None, target
    rest = found[2]
    return found[1], rest if rest.startswith(b"/") else b"/" + rest


def too_large() -> BridgeError:
    """Return the refusal of a body over the cap."""
    return BridgeError(
        Code.PAYLOAD_TOO_LARGE, f"the body exceeds {limits.REST_BODY_BYTES} bytes"
    )
