"""
Which addresses may be dialled, and which are public.

The tables are the special-purpose address registries of IANA and a few anycast
blocks that no client needs to reach.  Every form that carries an IPv4 address inside
an IPv6 one counts as private, whatever it carries.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Final

from ..classes import define, frozen
from ..protocol.errors import BridgeError, Code
from .target import Target

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
        refused = [
            address
            for address in addresses
            if (address, target.port) not in self.also
            and not _is_public_elsewhere(address)
        ]
        if refused:
            raise _not_public(*refused)

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
