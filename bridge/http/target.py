"""
Where a URL leads: read strictly, written in one form, and whether that may be dialled.

What is read here is what is dialled, put into ``Host`` and compared with the
certificate; no second parser may read the same text otherwise.

The tables of addresses are the special-purpose address registries of IANA and a few
anycast blocks that no client needs to reach.  Every form that carries an IPv4 address
inside an IPv6 one counts as private, whatever it carries.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from ..classes import define, frozen
from ..protocol.errors import BridgeError, Code, bad_request
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
    """

    target: Target
    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


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


_PRIVATE_V4: Final = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a carrier's customers
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

# All of IPv6 that is routed at all; mapped, translated, local and multicast
# addresses lie outside.
_GLOBAL_V6: Final = ipaddress.IPv6Network("2000::/3")
_PRIVATE_V6: Final = tuple(
    ipaddress.IPv6Network(block)
    for block in (
        "2001::/23",  # Teredo, ORCHID, benchmarking, protocol assignments
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)

# The interface identifiers of ISATAP: 0:5efe and 200:5efe, then an IPv4 address.
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})

_PRIVATE_NAMES: Final = (
    "alt",
    "example",
    "home.arpa",
    "internal",
    "invalid",
    "local",
    "localhost",
    "onion",
    "test",
)


@define(auto_exc=True)
class NotPublicError(BridgeError):
    """
    A host is not on the public internet, and nothing was sent to it.

    :ivar addresses: Those of its addresses that are not public, in text form; none
        when its name alone shows that it is private.
    """

    addresses: tuple[str, ...] = ()


@frozen
class AddressPolicy:
    """
    Allows public addresses, or all.

    :ivar public_only: Whether a host is refused when any of its addresses is not on
        the public internet.
    :ivar also: Private addresses and private names, each with a port, that are allowed
        all the same: those that a prompt has shown.  Tests, which have no internet,
        allow their servers by it; no option and no variable sets it.
    """

    public_only: bool = True
    also: frozenset[tuple[str, int]] = frozenset()

    def check_target(self, target: Target) -> None:
        """
        Check what can be checked before a name is looked up.

        :raise NotPublicError: It is not on the public internet.
        """
        if target.is_address:
            self.check_addresses(target, [target.host])
        elif not self._allows(target) and is_private_name(target.host):
            raise _not_public()

    def check_addresses(self, target: Target, addresses: Sequence[str]) -> None:
        """
        Check every address of a host: one that is not public refuses them all.

        :raise NotPublicError: Some address is not public.
        """
        if self._allows(target):
            return
        private = [
            address
            for address in addresses
            if (address, target.port) not in self.also
            and not _is_public_elsewhere(address)
        ]
        if private:
            raise _not_public(*private)

    def _allows(self, target: Target) -> bool:
        """Whether this host is allowed whatever its addresses are."""
        return not self.public_only or (target.host, target.port) in self.also


def _not_public(*addresses: str) -> NotPublicError:
    return NotPublicError(
        Code.BAD_REQUEST, "url: not a public address", addresses=addresses
    )


def is_public(address: str) -> bool:
    """
    Whether an address is reachable on the internet by everyone alike.

    :param address: An IPv4 or IPv6 address in its usual text form.  Anything else,
        also an address with a zone, is not public.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in block for block in _PRIVATE_V4)
    if parsed.scope_id is not None or parsed not in _GLOBAL_V6:
        return False
    if (int(parsed) >> 32) & 0xFFFFFFFF in _ISATAP:
        return False
    return not any(parsed in block for block in _PRIVATE_V6)


def _is_public_elsewhere(address: str) -> bool:
    """Whether an address is public, and not one of this machine's own."""
    return is_public(address) and not is_local_address(address)


def is_local_address(address: str) -> bool:
    """
    Whether an address is one of this machine's, by asking the kernel.

    A public address can be the machine's own, and then reaches what listens only
    here.  Nothing is sent.
    """
    # Only an address of this machine can be bound, unless it was set up otherwise
    # (ip_nonlocal_bind).  The source address that is chosen for it would also show it,
    # except for a second address in the same network.
    foreign = "2001:db8::1" if ":" in address else "192.0.2.1"
    return _asks_from(address) or (_binds(address) and not _binds(foreign))


def _asks_from(address: str) -> bool:
    """Whether what is sent to an address is sent from it."""
    try:
        with _datagram_socket(address) as probe:
            probe.connect((address, 9))
            source: str = probe.getsockname()[0]
    except OSError:
        return False
    return ipaddress.ip_address(source) == ipaddress.ip_address(address)


def _binds(address: str) -> bool:
    try:
        with _datagram_socket(address) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _datagram_socket(address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.socket(family, socket.SOCK_DGRAM)


def is_private_name(host: str) -> bool:
    """Whether a host name is reserved for names that are not on the internet."""
    name = host.lower().removesuffix(".")
    return any(
        name == private or name.endswith(f".{private}") for private in _PRIVATE_NAMES
    )
