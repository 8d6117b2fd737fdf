"""
One HTTP request: its head is judged, then its body is read, then it is answered.

Which head is answered by what is decided in ``bridge.web.site``; when each of this
happens, in ``bridge.web.channel``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, Protocol

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.web.http import Request

from ..protocol import limits
from ..protocol.errors import BridgeError, Code
from .guard import Headers
from .headers import ALWAYS, cors_headers, phrase, refusal_body, refusal_headers


@frozen
class Head:
    """
    What is known of a request before its body.

    :ivar path: Of the request target, as it was sent; without the query.
    :ivar length: Of the body, as declared; ``None`` when it comes in chunks.
    """

    method: bytes
    path: bytes
    headers: Headers
    length: int | None


Answer = Callable[["GuardedRequest"], Awaitable[bytes | None]]
"""
Gives the body of a response, or refuses with ``BridgeError``.

``None``: it has answered by itself, and may have taken the connection over.
"""


class Judge(Protocol):
    """Decides who answers; ``bridge.web.site.GuardedSite`` is one."""

    def judge(self, head: Head) -> Answer:
        """
        Decide by the head alone.

        :raise BridgeError: The request is refused.
        """

    def allowed_origin(self, headers: Headers) -> bytes | None:
        """Give the request's origin when it is one that may read the answer."""


class GuardedRequest(Request):
    """
    A request that is judged by its head, with a bounded body.

    :ivar refusal: Why it is refused, as soon as that is known.
    """

    refusal: BridgeError | None = None
    content: Any
    _answer: Answer
    _received = 0

    def headReceived(  # noqa: N802
        self, method: bytes, target: bytes, version: bytes, length: int | None
    ) -> None:
        """Judge the head.  Of the body of a refused request nothing is kept."""
        self.method, self.uri, self.clientproto = method, target, version
        self.path = target.partition(b"?")[0]
        self.content = BytesIO()
        judge: Judge = self.channel.factory
        origin = judge.allowed_origin(self.requestHeaders)
        allowing = {} if origin is None else cors_headers(origin)
        for name, value in {**ALWAYS, **allowing}.items():
            self.setHeader(name, value)
        try:
            self._answer = judge.judge(
                Head(method, self.path, self.requestHeaders, length)
            )
        except BridgeError as error:
            self.refusal = error

    def expects_continue(self) -> bool:
        """Whether the client waits for leave to send the body."""
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

        Twisted's own would read queries and forms, for which nobody asks.
        """
        self.content.seek(0)
        Deferred.fromCoroutine(self._respond()).addErrback(self._broke)

    def _broke(self, failure: Failure) -> None:
        self._log.failure("an answer could not be written", failure)
        if not self._disconnected:
            self.loseConnection()

    async def _respond(self) -> None:
        # The client may go; what was begun goes on, and only its answer is lost.
        try:
            body = await self._body()
        except BridgeError as error:
            self._refuse(error)
        except Exception:  # noqa: BLE001
            self._log.failure("a request broke")
            self._refuse(
                BridgeError(Code.INTERNAL, "the daemon failed; its log says how")
            )
        else:
            if body is not None:
                self._finish_with(200, body)

    async def _body(self) -> bytes | None:
        if self.refusal is not None:
            raise self.refusal
        return await self._answer(self)

    def finish_empty(self) -> None:
        """Answer that all is well, and there is nothing to tell (204)."""
        self.responseHeaders.removeHeader(b"content-type")
        self._finish_with(204, b"")

    def _refuse(self, error: BridgeError) -> None:
        for name, value in refusal_headers(error).items():
            self.setHeader(name, value)
        self._finish_with(error.code.status, refusal_body(error))

    def _finish_with(self, status: int, body: bytes) -> None:
        if self._disconnected:
            return
        self.setResponseCode(status, phrase(status))
        if body:
            self.setHeader(b"content-length", b"%d" % len(body))
        self.write(body)
        self.finish()


def too_large() -> BridgeError:
    """Word that a body is over the cap."""
    return BridgeError(
        Code.PAYLOAD_TOO_LARGE, f"the body exceeds {limits.REST_BODY_BYTES} bytes"
    )
