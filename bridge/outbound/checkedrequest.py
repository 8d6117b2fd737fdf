"""What a request may be: its method, its headers and its body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .. import __version__
from ..http.target import CheckedRequest, Target
from ..protocol import limits
from ..protocol.errors import BridgeError, bad_request

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

# Headers about the connection, and about proxies: they are the daemon's own.
_REFUSED: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_REFUSED_PREFIX: Final = "proxy-"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]*")
_DEFAULTS: Final = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "user-agent": f"plugin-bridge/{__version__}",
}


def make_request(
    target: Target,
    method: str,
    headers: Mapping[str, str],
    body: str,
    milliseconds: int | None,
) -> CheckedRequest:
    """
    Check everything except the target, in the order in which refusals are reported.

    :raise BridgeError: ``bad_request``, naming the field and the rule.
    """
    method = method.upper()
    if method not in METHODS:
        raise _refused("method", f"must be one of {', '.join(METHODS)}")
    content = body.encode("utf-8")
    if len(content) > limits.OUTBOUND_REQUEST_BYTES:
        raise _refused(
            "body", f"at most {limits.OUTBOUND_REQUEST_BYTES} bytes in UTF-8"
        )
    _check_headers(headers)
    given = {name.lower() for name in headers}
    sent = [*headers.items(), *((n, v) for n, v in _DEFAULTS.items() if n not in given)]
    if milliseconds is None:
        milliseconds = limits.OUTBOUND_DEFAULT_MILLISECONDS
    seconds = min(max(milliseconds, 1), limits.OUTBOUND_MOST_MILLISECONDS) / 1000
    return CheckedRequest(target, method, tuple(sent), content, seconds)


def _check_headers(headers: Mapping[str, str]) -> None:
    if len(headers) > limits.OUTBOUND_REQUEST_HEADERS:
        raise _refused("headers", f"at most {limits.OUTBOUND_REQUEST_HEADERS}")
    size = sum(len(name) + len(value) for name, value in headers.items())
    if size > limits.OUTBOUND_REQUEST_HEADERS_BYTES:
        most = limits.OUTBOUND_REQUEST_HEADERS_BYTES
        raise _refused("headers", f"at most {most} bytes in all")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise _refused("headers", "a name is not a token of HTTP")
        lower = name.lower()
        if lower in _REFUSED or lower.startswith(_REFUSED_PREFIX):
            raise _refused("headers", "headers of the connection cannot be set")
        if not _VALUE.fullmatch(value):
            raise _refused("headers", "a value has characters that cannot be sent")


def _refused(name: str, rule: str) -> BridgeError:
    return bad_request(f"{name}: {rule}")
