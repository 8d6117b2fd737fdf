"""The ``outbound`` service: one HTTP request, made by the daemon for the page."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from attrs import field
from orjson import Fragment

from ..classes import define, frozen
from ..http.target import read_url
from ..outbound.fetcher import METHODS, HttpFetcher, make_request
from ..protocol import limits
from ..protocol.wire import AnyParams
from ..rpc import Caller, method

_MOST_SECONDS = limits.OUTBOUND_MOST_MILLISECONDS / 1000 + limits.CALL_SECONDS
_SET_COOKIE = "set-cookie"


@frozen(eq=False, repr=False)
class FetchParams(AnyParams):
    """
    The request to make.

    :ivar url: An absolute URL of http or https, without user name and password.
    :ivar method: GET, HEAD, POST, PUT, PATCH or DELETE, in any case.
    :ivar headers: Values by name, at most 32; not those of the connection.
    :ivar body: Text, at most 1 MiB in UTF-8; empty for none.
    :ivar timeout_ms: For the whole exchange; 30000 by default, and brought into
        1 to 120000.
    """

    url: str
    method: str = "GET"
    headers: dict[str, str] = field(factory=dict)
    body: str = ""
    timeout_ms: int | None = None


@frozen(eq=False, repr=False)
class FetchResult:
    """
    The response, whatever its status: redirects are not followed.

    :ivar status: The status code.
    :ivar status_text: The standard's words for it, or empty.
    :ivar ok: Whether the status is 200 to 299.
    :ivar url: The URL as it was given.
    :ivar headers: Values by name in lower case; repeated ones joined by a comma and
        a space.
    :ivar set_cookie: The values of ``set-cookie``, which can't be joined.
    :ivar body: Text; the response was valid UTF-8, at most 16 MiB.
    """

    status: int
    status_text: str
    ok: bool
    url: str
    headers: dict[str, str]
    set_cookie: list[str]
    body: Fragment


@define(eq=False, repr=False)
class Outbound:
    """Calls public HTTP APIs, including those that allow no cross-origin requests."""

    _fetcher: HttpFetcher

    def describe(self) -> dict[str, Any]:
        """Return what can be requested, and the limits."""
        return {
            "requestMethods": list(METHODS),
            "maxRequestBytes": limits.OUTBOUND_REQUEST_BYTES,
            "maxResponseBytes": limits.OUTBOUND_RESPONSE_BYTES,
            "maxHeaders": limits.OUTBOUND_REQUEST_HEADERS,
            "defaultTimeoutMs": limits.OUTBOUND_DEFAULT_MILLISECONDS,
            "maxTimeoutMs": limits.OUTBOUND_MOST_MILLISECONDS,
            "bodies": "text",
            "redirects": "not followed; the page decides",
            "reach": "public addresses only; cross-origin rules do not apply",
        }

    @method(FetchParams, FetchResult, seconds=_MOST_SECONDS)
    async def fetch(self, params: FetchParams, caller: Caller) -> FetchResult:
        """
        Make one HTTP request.

        :raise BridgeError: ``bad_request`` for a URL, method, header or body that
            breaks a rule, an address that is not public, and a response that is too
            large or not UTF-8; ``unavailable`` when no response came: unknown host,
            no connection, TLS, the timeout, or too many waiting fetches.
        """
        target = read_url(params.url)
        self._fetcher.policy.check_target(target)
        request = make_request(
            target, params.method, params.headers, params.body, params.timeout_ms
        )
        head, text = await self._fetcher.fetch(request, caller)
        headers = {n: ", ".join(v) for n, v in head.headers if n != _SET_COOKIE}
        return FetchResult(
            status=head.status,
            status_text=_phrase(head.status),
            ok=HTTPStatus.OK <= head.status < HTTPStatus.MULTIPLE_CHOICES,
            url=params.url,
            headers=headers,
            set_cookie=[v for n, vs in head.headers if n == _SET_COOKIE for v in vs],
            body=text,
        )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
