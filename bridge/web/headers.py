"""The headers of every response, whatever it answers; and how a refusal looks."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from attrs import define

from ..protocol.errors import BridgeError, Code
from ..protocol.frames import error_fields
from ..protocol.wire import dumps

ALWAYS: Final[Mapping[bytes, bytes]] = MappingProxyType(
    {
        b"content-type": b"application/json",
        b"cache-control": b"no-store",
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


# Not frozen: Twisted and Python both set attributes on a raised exception.
@define(auto_exc=True)
class MethodError(BridgeError):
    """
    A path was asked for with a method it does not take.

    :ivar allow: The methods it takes, as the ``Allow`` header has them.
    """

    allow: bytes = b""


@define(auto_exc=True)
class WrongTokenError(BridgeError):
    """A bearer token was there, and is not this daemon's (RFC 6750, section 3.1)."""


def cors_headers(origin: bytes) -> dict[bytes, bytes]:
    """Give what lets a page of an allowed origin read the answer."""
    return {b"access-control-allow-origin": origin, **_CORS}


def phrase(status: int) -> bytes:
    """Give the reason phrase of a status; Twisted does not know the newer ones."""
    return HTTPStatus(status).phrase.encode("ascii")


def refusal_headers(error: BridgeError) -> dict[bytes, bytes]:
    """Give the headers that only some refusals have."""
    headers = {}
    if error.retry_after is not None:
        headers[b"retry-after"] = b"%d" % error.retry_after
    if error.code is Code.UNAUTHORIZED:
        wrong = b', error="invalid_token"' * isinstance(error, WrongTokenError)
        headers[b"www-authenticate"] = b'Bearer realm="plugin-bridge"' + wrong
    if isinstance(error, MethodError):
        headers[b"allow"] = error.allow
    return headers


def refusal_body(error: BridgeError) -> bytes:
    """Give the body of a refusal."""
    return dumps({"ok": False, "error": error_fields(error)})


def last_refusal(error: BridgeError) -> bytes:
    """Write a whole response to what is no request; the connection ends with it."""
    body = refusal_body(error)
    headers = {
        **ALWAYS,
        **refusal_headers(error),
        b"connection": b"close",
        b"content-length": b"%d" % len(body),
    }
    status = b"HTTP/1.1 %d %s\r\n" % (error.code.status, phrase(error.code.status))
    lines = [b"%s: %s\r\n" % header for header in headers.items()]
    return status + b"".join(lines) + b"\r\n" + body
