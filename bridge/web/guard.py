"""
Whether a request is accepted at all: the checks on its headers, and the token it shows.

Their order is in ``bridge.web.site``.

Header values are compared as bytes and never decoded: they may hold anything.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from attrs import field
from twisted.logger import Logger
from twisted.web.http_headers import Headers

from ..classes import define
from ..datadir.token import TokenError, read_token
from ..protocol.budgets import TokenBucket
from ..protocol.errors import BridgeError, Code, bad_request
from ..settings.values import HTTP_PORT
from .request import GuardedRequest

_CHALLENGE = b'Bearer realm="plugin-bridge"'
_HOST = re.compile(rb"(\[[0-9a-fA-F:.]+\]|[^\[\]/?#@:\\\s]+)(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(rb"https?://" + _HOST.pattern)


def is_loopback_name(name: bytes) -> bool:
    """Whether ``name`` is ``localhost`` or an address that is loopback."""
    text = name.decode("latin-1")
    if text.lower() == "localhost":
        return True
    try:
        # Only an address of IPv6 stands in brackets (RFC 3986, section 3.2.2).
        if text.startswith("["):
            return ipaddress.IPv6Address(text[1:-1]).is_loopback
        return ipaddress.IPv4Address(text).is_loopback
    except ValueError:
        return False


def loopback_port(host: bytes) -> int | None:
    """
    Return the port of a ``Host`` header that names this machine.

    :return: ``None`` for another name, as one that DNS rebinding has pointed here.
    """
    found = _HOST.fullmatch(host)
    if found is None or not is_loopback_name(found[1]):
        return None
    return int(found[2] or HTTP_PORT)


def is_loopback_origin(origin: bytes) -> bool:
    """Whether a page of this origin was served by this machine itself."""
    found = _ORIGIN.fullmatch(origin)
    return found is not None and is_loopback_name(found[1])


LOOK_SECONDS: Final = 1.0
"""How long what the file holds is taken as known."""


@define(eq=False, repr=False)
class FollowedToken:
    """
    The token that a daemon accepts: that of its file, as it is now; see
    docs/decisions/0061.

    :ivar _token: What was read of it.
    :ivar replaced: Called when the file holds another token than before.
    """

    _path: Path
    _token: str
    _seconds: Callable[[], float]
    replaced: Callable[[], object] = field(default=lambda: None, init=False)
    _defect: str | None = field(default=None, init=False)
    # Nothing equals it: the first look reads the file.
    _status: object = field(factory=object, init=False)
    _looked: float = field(init=False)

    _log: ClassVar[Logger] = Logger(namespace="bridge")

    def __attrs_post_init__(self) -> None:
        self._looked = self._seconds()

    def matches(self, offered: bytes) -> bool:
        """
        Whether this is the token; compares in constant time.

        Nothing is while the file is missing or unusable.
        """
        if self._seconds() - self._looked >= LOOK_SECONDS:
            self.look()
        known = hmac.compare_digest(self._token.encode("ascii"), offered)
        return known and self._defect is None

    def secrets(self) -> tuple[str]:
        """Return what no log may contain: the last token there was."""
        return (self._token,)

    def look(self) -> None:
        """Look at the status of the file, and read it if that has changed."""
        self._looked = self._seconds()
        status = _status(self._path)
        if status != self._status:
            self._status = status
            self._read()

    def _read(self) -> None:
        before = self._token
        try:
            self._token = read_token(self._path)
        except FileNotFoundError:
            fix = "run with --rotate-token, then pair again"
            self._unusable(f"{self._path} is missing; {fix}")
            return
        except TokenError as e:
            self._unusable(str(e))
            return
        if self._defect is not None:
            self._log.info("the pairing token can be used again")
        self._defect = None
        if self._token != before:
            self._log.warn("the pairing token was replaced; every page must pair again")
            self.replaced()

    def _unusable(self, why: str) -> None:
        # It is read again at the next look: the reason may be the daemon's own, such as
        # too many open files.
        self._status = object()
        if why != self._defect:
            self._log.error("no page can pair: {why}", why=why)
        self._defect = why


def _status(path: Path) -> object:
    """Return what changes with a file's content or mode; ``None`` without a file."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    times = found.st_mtime_ns, found.st_ctime_ns
    return found.st_dev, found.st_ino, found.st_size, found.st_mode, *times


@define(eq=False, repr=False)
class Guard:
    """
    Validates the head of every request.

    :ivar origins: Those that ``--allow-origin`` has added to the loopback ones;
        compared exactly, and may hold ``file://``.  ``null`` is never allowed.
    :ivar programs: Pays for requests without an ``Origin``.
    :ivar pages: Pays for requests of allowed pages, so that no program that asks for
        the liveness probe again and again makes a page believe that nothing runs.
    :ivar foreign: Pays for requests made for another site, or by another name that
        points here, so that a hostile page cannot spend what is the others'.
    :ivar port: The bound port; ``HTTP_PORT`` for a socket without one.
    """

    origins: frozenset[bytes]
    token: FollowedToken
    programs: TokenBucket
    pages: TokenBucket
    foreign: TokenBucket
    port: int

    def draw(
        self, headers: Headers, authority: bytes | None = None, upgrade: bool = False
    ) -> None:
        """
        Take a token for a request from its bucket.

        :param authority: See ``check_host``.
        :param upgrade: Whether it is a handshake that needs a connection of its own.
            That of an allowed page costs none: any program could write its origin and
            use up the bucket.  It waits for its turn instead; see ``upgrade``.
        :raise BridgeError: 429.
        """
        bucket = self.programs
        if not (self._names_us(headers, authority) and self._is_own_site(headers)):
            bucket = self.foreign
        elif self.allowed_origin(headers) is not None:
            if upgrade:
                return
            bucket = self.pages
        if bucket.take() is None:
            seconds = max(1, math.ceil(bucket.wait()))
            raise BridgeError(Code.RATE_LIMITED, "too many requests", seconds)

    def check_host(self, headers: Headers, authority: bytes | None = None) -> None:
        """
        Refuse a name that DNS rebinding has pointed here.

        :param authority: Of an absolute request target, whose host counts instead of
            the header's (RFC 9112, section 3.2.2).
        :raise BridgeError: 403; or 400 unless there is exactly one Host header.
        """
        if len(headers.getRawHeaders(b"host") or ()) != 1:
            raise bad_request("there must be one Host header")
        if not self._names_us(headers, authority):
            raise BridgeError(
                Code.FORBIDDEN_HOST, "Host must be a loopback name with this port"
            )

    def check_origin(self, headers: Headers) -> None:
        """
        Refuse a page of another site, by its Origin or its fetch metadata.

        :raise BridgeError: 403.
        """
        if not self._is_own_site(headers):
            raise BridgeError(
                Code.FORBIDDEN_ORIGIN, "this page's origin is not allowed here"
            )

    def allowed_origin(self, headers: Headers) -> bytes | None:
        """Return the request's origin if it may read the answer."""
        origins = headers.getRawHeaders(b"origin") or ()
        if len(origins) != 1 or origins[0] == b"null":
            return None
        is_allowed = origins[0] in self.origins or is_loopback_origin(origins[0])
        return origins[0] if is_allowed else None

    def count_refused_hello(self, of_page: bool) -> None:
        """
        Take one token for a socket without a good ``hello``.

        :param of_page: Whether a page opened it; see ``pages``.
        """
        (self.pages if of_page else self.programs).take()

    def authenticate(self, request: GuardedRequest) -> None:
        """
        Check the bearer token (RFC 6750).

        :raise BridgeError: 401, or 400 for two Authorization headers.
        """
        given = request.requestHeaders.getRawHeaders(b"authorization") or ()
        if len(given) > 1:
            raise bad_request("more than one Authorization header")
        scheme, _, token = (given[0] if given else b"").partition(b" ")
        token = token.strip() if scheme.lower() == b"bearer" else b""
        if not self.token.matches(token):
            wrong = b', error="invalid_token"' if token else b""
            request.setHeader(b"www-authenticate", _CHALLENGE + wrong)
            raise BridgeError(
                Code.UNAUTHORIZED, "the pairing token is missing or wrong"
            )

    def check_content_type(self, headers: Headers) -> None:
        """
        Insist on JSON, which a browser sends only after a preflight.

        Its type may have any parameters.

        :raise BridgeError: 415.
        """
        given = headers.getRawHeaders(b"content-type") or ()
        types = [one.partition(b";")[0].strip().lower() for one in given]
        if types != [b"application/json"]:
            raise BridgeError(
                Code.UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"
            )

    def _names_us(self, headers: Headers, authority: bytes | None) -> bool:
        hosts = headers.getRawHeaders(b"host") or ()
        if len(hosts) != 1:
            return False
        return loopback_port(hosts[0] if authority is None else authority) == self.port

    def _is_own_site(self, headers: Headers) -> bool:
        if headers.getRawHeaders(b"origin"):
            return self.allowed_origin(headers) is not None
        sites = headers.getRawHeaders(b"sec-fetch-site") or ()
        return all(site in (b"none", b"same-origin") for site in sites)
