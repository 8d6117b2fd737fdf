"""
Connections of a clone.

Nothing is taken from the environment: no proxy, no CA path, no key log.  The address
that was validated is the address that is dialled; the name decides the certificate.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Any, cast

from attrs import define, frozen

from ...net.addresses import is_private_name, is_public_elsewhere
from ...protocol.errors import BridgeError
from ...protocol.limits import CLONE_CONNECT_SECONDS
from .resolve import Endpoint, LookUp, resolve
from .transfer import Transfer, clone_failed


class CountedSocket(ssl.SSLSocket):
    """A TLS socket that counts what is read from it, headers and all."""

    transfer: Transfer

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        """See ``socket.recv_into``."""
        count = super().recv_into(*args, **kwargs)
        self.transfer.received(count)
        return count


@define(auto_exc=True)
class NotPublicError(BridgeError):
    """
    A host is not on the public internet, and nothing was sent to it.

    :ivar addresses: Those of its addresses that are not public, in text form; none
        when its name alone shows that it is private.
    """

    addresses: tuple[str, ...] = ()


@frozen
class Dialler:
    """
    Makes connections to checked addresses.

    :ivar public_only: Refuse a host any of whose addresses is not public.
    :ivar allowed: Private addresses, and private names, that are not refused.
    """

    transfer: Transfer
    context: ssl.SSLContext
    public_only: bool
    look_up: LookUp
    allowed: frozenset[str] = frozenset()

    def dial(self, host: str, port: int) -> CountedSocket:
        """
        Connect and shake hands.

        :param host: The name the certificate must be for.
        :raise BridgeError: No address may be, or could be, connected to; or the
            server's certificate is not trusted.
        """
        if not self.public_only:
            endpoints = resolve(host, port, self.look_up, self.transfer.check)
        else:
            endpoints = self._checked(host, port)
        return self._secured(self._connected(endpoints), host)

    def _checked(self, host: str, port: int) -> list[Endpoint]:
        """
        Resolve a name to addresses that are public or allowed.

        :raise NotPublicError: The name or an address is neither.
        """
        is_private = is_private_name(host)
        if is_private and host not in self.allowed:
            raise _not_public()
        endpoints = resolve(host, port, self.look_up, self.transfer.check)
        refused = {
            endpoint.host: None
            for endpoint in endpoints
            if not (is_private or self._may_dial(endpoint.host))
        }
        if refused:
            raise _not_public(*refused)
        return endpoints

    def _may_dial(self, address: str) -> bool:
        return address in self.allowed or is_public_elsewhere(address)

    def _connected(self, endpoints: list[Endpoint]) -> socket.socket:
        for endpoint in endpoints:
            with contextlib.suppress(OSError):
                return self._connect(endpoint)
            self.transfer.check()
        raise clone_failed("could not connect to the host")

    def _connect(self, endpoint: Endpoint) -> socket.socket:
        connection = socket.socket(endpoint.family, socket.SOCK_STREAM)
        try:
            self.transfer.hold(connection)
            connection.settimeout(CLONE_CONNECT_SECONDS)
            connection.connect(endpoint.address)
            connection.settimeout(self.transfer.limits.seconds)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            connection.close()
            raise
        return connection

    def _secured(self, connection: socket.socket, host: str) -> CountedSocket:
        try:
            secured = self.context.wrap_socket(
                connection, server_hostname=host.removesuffix(".")
            )
        except ssl.SSLCertVerificationError:
            raise clone_failed("the host's TLS certificate is not trusted") from None
        except (OSError, ValueError):
            self.transfer.check()
            raise clone_failed("no TLS connection with the host") from None
        finally:
            connection.close()
        counted = cast("CountedSocket", secured)
        counted.transfer = self.transfer
        return counted


def _not_public(*addresses: str) -> NotPublicError:
    refused = clone_failed("the host is not on the public internet")
    return NotPublicError(refused.code, refused.message, addresses=addresses)
