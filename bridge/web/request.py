"""
Every HTTP request, judged before anything is looked up, so no resource can forget it.

The body is bounded while it arrives, and what is answered has the headers of all
responses, whoever answers it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes

from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource
from twisted.web.server import Request, Site

from ..protocol import limits
from ..protocol.errors import BridgeError, Code
from ..protocol.frames import error_fields
from ..protocol.wire import dumps
from .guard import Guard, is_json
from .headers import ALWAYS

_CORS = {
    b"access-control-allow-methods": b"GET, POST, OPTIONS",
    b"access-control-allow-headers": b"content-type, authorization",
    b"access-control-max-age": b"600",
}


class GuardedRequest(Request):
    """A request that is judged before it is routed, with a bounded body."""

    site: GuardedSite
    oversized = False
    _received = 0
    _is_json = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        """Make room for the body, never for more than the cap."""
        self._is_json = is_json(self.requestHeaders)
        self.oversized = (length or 0) > limits.REST_BODY_BYTES
        kept = self._is_json and not self.oversized
        super().gotLength(length if kept else 0)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        """
        Keep a piece of the body, unless it is too large already.

        What is not JSON is thrown away: it will be refused, and Twisted would read
        a form before anybody has judged who sent it.
        """
        self._received += len(data)
        self.oversized = self.oversized or self._received > limits.REST_BODY_BYTES
        if self._is_json and not self.oversized:
            super().handleContentChunk(data)

    def process(self) -> None:
        """Judge the head; route the request only when it passes."""
        channel: Any = self.channel
        self.site = channel.site
        guard = self.site.guard
        for name, value in ALWAYS.items():
            self.setHeader(name, value)
        origin = guard.allowed_origin(self.requestHeaders)
        if origin is not None:
            self._allow(origin)
        try:
            guard.admit(self.requestHeaders)
        except BridgeError as error:
            self._finish_with(refuse(self, error))
        else:
            self._route()

    def processingFailed(self, reason: Failure) -> Failure:  # noqa: N802
        """Answer a defect as any other refusal; what it was goes to the log alone."""
        self._log.failure("a request broke", failure=reason)
        if not self.startedWriting:
            error = BridgeError(Code.INTERNAL, "the daemon failed; its log says how")
            self._finish_with(refuse(self, error))
        return reason

    def setHeader(self, name: bytes | str, value: bytes | str) -> None:  # noqa: N802
        """Set a header; but what software answers is nobody's business."""
        if name.lower() not in (b"server", b"date"):
            super().setHeader(name, value)

    def _route(self) -> None:
        if self.method == b"OPTIONS":
            self._answer_preflight()
        elif self.path == b"*" or not is_utf8(unquote_to_bytes(self.path)):
            # Twisted and Klein would answer these in their own words.
            self._finish_with(refuse(self, self.site.nothing_here()))
        else:
            super().process()

    def _allow(self, origin: bytes) -> None:
        self.setHeader(b"access-control-allow-origin", origin)
        for name, value in _CORS.items():
            self.setHeader(name, value)

    def _answer_preflight(self) -> None:
        asked = self.requestHeaders.hasHeader(b"access-control-request-private-network")
        if asked and self.responseHeaders.hasHeader(b"access-control-allow-origin"):
            self.setHeader(b"access-control-allow-private-network", b"true")
        self.responseHeaders.removeHeader(b"content-type")
        self.setResponseCode(204)
        self._finish_with(b"")

    def _finish_with(self, body: bytes) -> None:
        self.write(body)
        self.finish()


class GuardedSite(Site):
    """The HTTP server."""

    requestFactory = GuardedRequest  # noqa: N815 (Twisted's name)
    displayTracebacks = False  # noqa: N815
    noisy = False

    def __init__(
        self,
        resource: IResource,
        guard: Guard,
        nothing_here: Callable[[], BridgeError],
        **kwargs: Any,
    ) -> None:
        super().__init__(resource, **kwargs)
        self.guard = guard
        self.nothing_here = nothing_here

    def log(self, request: Any) -> None:
        """Write no access log: it would hold what callers sent."""


def refuse(request: IRequest, error: BridgeError) -> bytes:
    """Turn a refusal into a response: set its status and headers, give its body."""
    request.setResponseCode(error.code.status)
    if error.retry_after is not None:
        request.setHeader(b"retry-after", str(error.retry_after).encode("ascii"))
    if error.code is Code.UNAUTHORIZED:
        request.setHeader(b"www-authenticate", b'Bearer realm="plugin-bridge"')
    return dumps({"ok": False, "error": error_fields(error)})


def is_utf8(text: bytes) -> bool:
    """Whether bytes are a text in UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
