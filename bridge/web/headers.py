"""The headers of every response, and the form of a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from ..classes import define
from ..protocol.errors import BridgeError
from ..protocol.frames import error_fields
from ..protocol.strictjson import dumps

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


# Not frozen: Twisted and Python both set attributes on a raised exception.
@define(auto_exc=True)
class RequestError(BridgeError):
    """
    A refusal that has headers of its own.

    :ivar headers: Them, by name.
    """

    headers: Mapping[bytes, bytes] = MappingProxyType({})


def cors_headers(origin: bytes) -> dict[bytes, bytes]:
    """Return the headers that let a page of an allowed origin read the answer."""
    return {b"access-control-allow-origin": origin, **_CORS}


def phrase(status: int) -> bytes:
    """Return the reason phrase of a status; Twisted does not know the newer ones."""
    return HTTPStatus(status).phrase.encode("ascii")


def refusal_headers(error: BridgeError) -> dict[bytes, bytes]:
    """Return the headers that only some refusals have."""
    headers = dict(error.headers) if isinstance(error, RequestError) else {}
    if error.retry_after is not None:
        headers[b"retry-after"] = b"%d" % error.retry_after
    return headers


def refusal_body(error: BridgeError) -> bytes:
    """Return the body of a refusal."""
    return dumps({"ok": False, "error": error_fields(error)})


def last_refusal(error: BridgeError, more: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """
    Format the response to bytes that are not a request; the connection ends.

    :param more: Further headers.
    """
    body = refusal_body(error)
    headers = {
        **ALWAYS,
        **refusal_headers(error),
        b"content-length": b"%d" % len(body),
        **dict(more),
    }
    status = b"HTTP/1.1 %d %s\r\n" % (error.code.status, phrase(error.code.status))
    lines = [b"%s: %s\r\n" % header for header in headers.items()]
    return status + b"".join(lines) + b"\r\n" + body
