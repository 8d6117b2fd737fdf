"""
Where a URL leads: read strictly, and written in one form.

What is read here is what is dialled, put into ``Host`` and compared with the
certificate; no second parser may read the same text otherwise.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final
from urllib.parse import quote

from ..classes import frozen
from ..protocol.errors import BridgeError, bad_request
from ..protocol.limits import OUTBOUND_URL_CHARACTERS

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# The ports the Fetch standard blocks ("port blocking"): of other protocols, whose
# servers may take an HTTP request for commands.
_BLOCKED = """
0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109
110 111 113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530
531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045
4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
_BLOCKED_PORTS: Final = frozenset(map(int, _BLOCKED.split()))

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#\\]*)(?P<path>/[^?#\\]*)?"
    r"(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.IGNORECASE,
)
_BRACKETED = re.compile(
    r"\[(?P<host>[0-9a-f:.]+)\](?::(?P<port>[0-9]*))?", re.IGNORECASE
)
_NAMED = re.compile(r"(?P<host>[^:\[\]]+)(?::(?P<port>[0-9]*))?")
# As the DNS has them (RFC 1035, section 2.3.4), and with the underscore in use.
_LABEL = re.compile(
    r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII | re.IGNORECASE
)
_NAME_CHARACTERS: Final = 253
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PORT_DIGITS: Final = 5

# What RFC 3986 allows in a path and a query, and the sign of what is encoded already.
_KEPT: Final = "/:@!$&'()*+,;=-._~%?"


@frozen
class Target:
    """
    Where a request goes.

    :ivar scheme: ``http`` or ``https``.
    :ivar host: A name in ASCII, or an address in its usual form.
    :ivar path: The path and the query, percent-encoded.
    :ivar is_address: Whether ``host`` is an address.
    """

    scheme: str
    host: str
    port: int
    path: str
    is_address: bool

    @property
    def authority(self) -> str:
        """What ``Host`` names: the host, and a port that is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        own = self.port == _DEFAULT_PORTS[self.scheme]
        return host if own else f"{host}:{self.port}"


@frozen
class CheckedRequest:
    """
    A request that has passed every check.

    :ivar headers: Names and values, defaults included.
    :ivar body: Empty when there is none.
    :ivar seconds: How long the whole exchange may take.
    """

    target: Target
    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float


def read_url(url: str) -> Target:
    """
    Read an absolute URL of http or https.

    An IPv4 address is read in all the spellings that a browser and ``inet_aton``
    know, among them ``2130706433`` and ``0x7f.1``, and full-width digits.

    :raise BridgeError: ``bad_request``, naming the rule that is broken.
    """
    if len(url) > OUTBOUND_URL_CHARACTERS:
        raise refused(f"at most {OUTBOUND_URL_CHARACTERS} characters")
    if _CONTROL.search(url):
        raise refused("no control characters")
    found = _URL.fullmatch(url.strip(" "))
    if found is None:
        raise refused("must be absolute, of http or https")
    scheme, authority = found["scheme"].lower(), found["authority"]
    if "@" in authority:
        raise refused("no user name or password")
    host, is_address, digits = _read_authority(authority)
    port = _read_port(digits) if digits else _DEFAULT_PORTS[scheme]
    return Target(scheme, host, port, _path(found["path"], found["query"]), is_address)


def refused(rule: str) -> BridgeError:
    """Return the refusal of a URL."""
    return bad_request(f"url: {rule}")


def _bad_host() -> BridgeError:
    return refused("the host is not a host name or an address")


def _read_authority(authority: str) -> tuple[str, bool, str | None]:
    """Return the host, whether it is an address, and the digits of the port."""
    if found := _BRACKETED.fullmatch(authority):
        try:
            address = ipaddress.IPv6Address(found["host"])
        except ValueError:
            raise _bad_host() from None
        return str(address), True, found["port"]
    if (found := _NAMED.fullmatch(authority)) is None:
        raise _bad_host()
    return *_read_host(found["host"]), found["port"]


def _read_host(text: str) -> tuple[str, bool]:
    host = (text if text.isascii() else _mapped(text)).lower().removesuffix(".")
    if not _is_host_name(host) or host.endswith("."):
        raise _bad_host()
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return host, False
    # No top-level domain is a number: this is an address, or nothing.
    try:
        return str(ipaddress.IPv4Address(socket.inet_aton(host))), True
    except OSError:
        raise _bad_host() from None


def _is_host_name(host: str) -> bool:
    """Whether a text is a host name in ASCII; an IPv4 address is one too."""
    labels = host.removesuffix(".").split(".")
    return len(host) <= _NAME_CHARACTERS and all(map(_LABEL.fullmatch, labels))


def _mapped(host: str) -> str:
    """Write a name in ASCII as browsers do (UTS 46)."""
    import idna  # its tables are large, and seldom needed

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except UnicodeError:
        raise _bad_host() from None


def _read_port(digits: str) -> int:
    port = int(digits) if len(digits) <= _PORT_DIGITS else 0
    if port in _BLOCKED_PORTS or port > 65535:
        raise refused("a port that is not for HTTP")
    return port


def _path(path: str | None, query: str | None) -> str:
    written = quote(path or "/", safe=_KEPT)
    if query:
        written += "?" + quote(query, safe=_KEPT)
    return written
