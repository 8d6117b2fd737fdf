"""
One HTTP request: its head is validated, its body read, and then it is answered.

``bridge.web.site`` decides which endpoint answers; ``bridge.web.channel`` decides when
each step happens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any, Protocol

from twisted.logger import Logger
from twisted.web.http import Request
from twisted.web.http_headers import Headers

from ..protocol import limits
from ..protocol.errors import BridgeError, Code, internal_error
from .headers import ALWAYS, cors_headers, phrase, refusal_body, refusal_headers

_log = Logger()
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp]://([^/?#]*)(.*)", re.DOTALL)


class RequestPolicy(Protocol):
    """Validates requests; ``bridge.web.site.GuardedSite`` is one."""

    def validate(self, request: GuardedRequest) -> Callable[[GuardedRequest], None]:
        """
        Decide by the head alone, and return what answers.

        :raise BridgeError: The request is refused.
        """

    def allowed_origin(self, headers: Headers) -> bytes | None:
        """Return the request's origin when it is one that may read the answer."""


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
    postpath: list[bytes]
    mapper: Any

    length: int | None
    authority: bytes | None
    refusal: BridgeError | None = None
    content: Any
    _answer: Callable[[GuardedRequest], None]
    _received = 0

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
        policy: RequestPolicy = self.channel.factory
        origin = policy.allowed_origin(self.requestHeaders)
        allowing = {} if origin is None else cors_headers(origin)
        for name, value in {**ALWAYS, **allowing}.items():
            self.setHeader(name, value)
        try:
            self._answer = policy.validate(self)
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
        self._received += len(data)
        if self._received > limits.REST_BODY_BYTES:
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
            self.finish_refused(self.refusal)
            return
        try:
            self._answer(self)
        except BridgeError as error:
            self.finish_refused(error)
        except Exception:  # noqa: BLE001
            _log.failure("a request failed")
            self.finish_refused(internal_error())

    def getRequestHostname(self) -> bytes:  # noqa: N802
        """Return a fixed name: no route depends on the client's Host header."""
        return b"localhost"

    def begin(self, status: int, body: bytes) -> bytes:
        """
        Begin a response.

        :return: Its body, which the renderer writes.
        """
        self.setResponseCode(status, phrase(status))
        if body:
            self.setHeader(b"content-length", b"%d" % len(body))
        return body

    def refuse(self, error: BridgeError) -> bytes:
        """Begin a response that is a refusal; see ``begin``."""
        for name, value in refusal_headers(error).items():
            self.setHeader(name, value)
        return self.begin(error.code.status, refusal_body(error))

    def finish_with(self, body: bytes) -> None:
        """Answer with 200 and a body."""
        self.write(self.begin(200, body))
        self.finish()

    def finish_refused(self, error: BridgeError) -> None:
        """Answer with a refusal."""
        self.write(self.refuse(error))
        self.finish()

    def finish_empty(self) -> None:
        """Answer with 204: success, without a body."""
        self.responseHeaders.removeHeader(b"content-type")
        self.write(self.begin(204, b""))
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
