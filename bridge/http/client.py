"""
Leads to a server: looks its name up, checks its addresses, and gets TLS ready.

One TLS context serves every connection.  Its authorities are the system's and those of
a file.  The system's are read from the paths compiled into Python's OpenSSL, not from
those that ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, field
from OpenSSL import SSL
from OpenSSL.crypto import FILETYPE_ASN1, X509, load_certificate
from service_identity.hazmat import DNS_ID, IPAddress_ID, verify_service_identity
from service_identity.pyopenssl import extract_patterns
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.ssl import CertificateOptions
from zope.interface import implementer

from ..classes import define
from ..concurrency.threads import NO_THREAD
from ..protocol.errors import unavailable
from ..protocol.limits import OUTBOUND_ADDRESSES, OUTBOUND_LOOK_UPS
from .exchange import Connections, Count
from .target import AddressPolicy, Target, refused

_Stamps = dict[str, tuple[int, int, int]]


def holds_authorities(ca_file: Path) -> bool:
    """Whether a PEM file of authorities can be used: it can be read, and has some."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(str(ca_file))
    except OSError:  # so are OpenSSL's
        return False
    return True


def trust_store_paths() -> dict[str, str]:
    """Return those of OpenSSL's ``cafile`` and ``capath`` that exist, by these keys."""
    compiled = ssl.get_default_verify_paths()
    named = {"cafile": compiled.openssl_cafile, "capath": compiled.openssl_capath}
    return {kind: path for kind, path in named.items() if Path(path).exists()}


def _windows_certificates() -> list[bytes]:
    """Return the authorities in the stores of Windows, in DER; elsewhere none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if sys.platform == "win32":
        context.load_default_certs()
    return context.get_ca_certs(binary_form=True)


@define(eq=False, repr=False)
class Trust:
    """
    Makes the TLS context, and makes it again when a file of authorities has changed.

    A context of its own for each connection would cost 20 ms and a megabyte, most of
    which the allocator doesn't give back.

    :ivar ca_file: Authorities to trust in addition to the system's, in PEM.
    """

    _ca_file: Path | None = None
    _context: SSL.Context | None = field(default=None, init=False)
    _made_of: _Stamps = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def current(self) -> SSL.Context | None:
        """Return the context, unless one of its files has changed."""
        return self._context if self._stamps() == self._made_of else None

    def renewed(self) -> SSL.Context:
        """
        Return the context, made again if one of its files has changed.  Blocks.

        :raise BridgeError: ``unavailable``: the CA file can't be used.
        """
        with self._lock:
            context = self.current()
            if context is None:
                found = self._stamps()
                context = self._context = self._made()
                self._made_of = found
            return context

    def _stamps(self) -> _Stamps:
        """Return what changes with a file of authorities."""
        stamps = {}
        for path in (*trust_store_paths().values(), self._ca_file):
            with contextlib.suppress(OSError):
                found = os.stat(path or "")
                stamps[str(path)] = (found.st_ino, found.st_size, found.st_mtime_ns)
        return stamps

    def _made(self) -> SSL.Context:
        context: SSL.Context = CertificateOptions().getContext()
        paths = trust_store_paths()
        if paths:
            places = paths.get("cafile"), paths.get("capath")
            _load(context, "the system's CA file", *places)
        store: Any = context.get_cert_store()
        for certificate in _windows_certificates():
            store.add_cert(load_certificate(FILETYPE_ASN1, certificate))
        if self._ca_file is not None:
            _load(context, "the CA file", str(self._ca_file))
        return context


def _load(context: SSL.Context, which: str, *paths: str | None) -> None:
    try:
        context.load_verify_locations(*paths)
    except SSL.Error:
        raise unavailable(f"{which} cannot be used") from None


_UNTRUSTED = "is not to be trusted for this host"
_UNTIMELY = {  # by the numbers of OpenSSL's errors
    9: "is not valid yet, by this computer's clock",
    10: "has expired, by this computer's clock",
}


@implementer(IOpenSSLClientConnectionCreator)
@define(eq=False, repr=False)
class HostTLS:
    """
    Makes TLS connections to one host.

    Twisted's own would give each a context, and takes a certificate without any
    alternative name for one of this host.

    :ivar fault: What a certificate that was refused last is or has done.
    """

    _context: SSL.Context
    _host: str
    fault: str = field(default=_UNTRUSTED, init=False)
    _wanted: DNS_ID | IPAddress_ID = field(init=False)

    def __attrs_post_init__(self) -> None:
        try:
            self._wanted = IPAddress_ID(self._host)
        except ValueError:
            self._wanted = _dns_id(self._host)

    def clientConnectionForTLS(self, tlsProtocol: Any) -> SSL.Connection:
        """See ``IOpenSSLClientConnectionCreator``."""
        connection = SSL.Connection(self._context, None)
        connection.set_verify(
            SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, self._is_good
        )
        if isinstance(self._wanted, DNS_ID):
            connection.set_tlsext_host_name(self._host.encode("ascii"))
        return connection

    def _is_good(
        self, _: SSL.Connection, certificate: X509, error: int, depth: int, ok: int
    ) -> bool:
        """Whether one of a chain is good; the first has to name the host."""
        self.fault = _UNTIMELY.get(error, _UNTRUSTED)
        if depth or not ok:
            return bool(ok)
        try:
            verify_service_identity(extract_patterns(certificate), [self._wanted], [])
        except Exception:  # noqa: BLE001 (without a usable name it is for nobody)
            return False
        return True


def _dns_id(host: str) -> DNS_ID:
    try:
        return DNS_ID(host)
    except ValueError:
        raise refused("not a host name that a certificate can be for") from None


LookUp = Callable[[str], "Deferred[Sequence[str]]"]
"""From a host name to its addresses, none when it has none."""


_Asked = dict[str, "list[Deferred[Sequence[str]]]"]


@define(eq=False, repr=False)
class SystemNames:
    """
    Looks names up as every program does: ``/etc/hosts``, DNS, and so on.

    A look-up can't be interrupted, so each has a thread of its own, for which neither a
    fetch at its deadline nor the daemon's shutdown waits.

    One for a name serves all who ask for it meanwhile.  Over the limit the others wait,
    each for as long as its caller has time.

    :ivar from_thread: Calls in the reactor's thread.
    """

    _from_thread: Callable[..., Any]
    _resolve: Callable[..., Sequence[tuple[Any, ...]]] = socket.getaddrinfo
    _under_way: _Asked = field(factory=dict, init=False)
    _waiting: _Asked = field(factory=dict, init=False)

    def look_up(self, host: str) -> Deferred[Sequence[str]]:
        """
        Look one name up.

        :return: Fires with the addresses, each once, in the resolver's order.
            Fails with ``BridgeError``, ``unavailable``: the system has no room for
            another thread.
        """
        answer: Deferred[Sequence[str]] = Deferred(partial(self._leave, host))
        asked = self._under_way if host in self._under_way else self._waiting
        asked.setdefault(host, []).append(answer)
        self._begin()
        return answer

    def _leave(self, host: str, answer: Deferred[Sequence[str]]) -> None:
        """Forget who waits no more."""
        for asked in (self._under_way, self._waiting):
            if answer in asked.get(host, ()):
                asked[host].remove(answer)
        if self._waiting.get(host) == []:
            del self._waiting[host]

    def _begin(self) -> None:
        while self._waiting and len(self._under_way) < OUTBOUND_LOOK_UPS:
            host = next(iter(self._waiting))
            answers = self._under_way[host] = self._waiting.pop(host)
            # The daemon flag: Python does not wait for it at its end.
            asking = threading.Thread(
                target=self._ask, args=(host,), name="outbound-names", daemon=True
            )
            try:
                asking.start()
            except RuntimeError:
                del self._under_way[host]
                for answer in answers:
                    answer.errback(unavailable(NO_THREAD))

    def _ask(self, host: str) -> None:
        addresses: list[str] = []
        # A name that can't be encoded is a ValueError.
        with contextlib.suppress(OSError, ValueError):
            found = self._resolve(host, None, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
        self._from_thread(self._answered, host, addresses)

    def _answered(self, host: str, addresses: list[str]) -> None:
        answers = self._under_way.pop(host)
        self._begin()
        for answer in answers:
            if not answer.called:  # who was answered before may have cancelled it
                answer.callback(addresses)


@define(eq=False, repr=False)
class HttpClient:
    """
    Connects to servers, each within the address policy of who asks.

    TLS is prepared at its first request.

    :ivar _call: Calls in a thread.
    :ivar _look_up: From a name to its addresses; the system's resolver by default.
    :ivar _trust: Whose certificates are believed; by default the system's.
    """

    _reactor: Any
    _call: Callable[..., Deferred[Any]]
    _look_up: LookUp = field()
    _trust: Trust = field(factory=Trust)

    @_look_up.default
    def _system(self) -> LookUp:
        return SystemNames(self._reactor.callFromThread).look_up

    def trusting(self, ca_file: Path | None) -> HttpClient:
        """Return a client that trusts these authorities, in PEM, as well."""
        return self if ca_file is None else evolve(self, trust=Trust(ca_file))

    async def connect(
        self,
        target: Target,
        policy: AddressPolicy,
        count: Count,
        *,
        keep: bool = False,
    ) -> Connections:
        """
        Get ready to send requests to a target's host; close what it returns.

        :param count: Counts what is received, heads and all.
        :param keep: Whether requests share a connection when the server lets them.
        :raise BridgeError: ``NotPublicError``; ``unavailable``: the name has no
            address, or too many, or the CA file can't be used; ``bad_request``: no
            certificate can be for that name.
        """
        policy.check_target(target)
        addresses = await self._addresses(target, policy)
        tls = None
        if target.scheme == "https":
            context = self._trust.current() or await self._call(self._trust.renewed)
            tls = HostTLS(context, target.host)
        return Connections(self._reactor, addresses, target.port, tls, count, keep)

    async def _addresses(self, target: Target, policy: AddressPolicy) -> Sequence[str]:
        if target.is_address:
            return [target.host]
        addresses = await self._look_up(target.host)
        if not addresses:
            raise unavailable("the host's name could not be resolved")
        if len(addresses) > OUTBOUND_ADDRESSES:
            raise unavailable("the host's name has too many addresses")
        policy.check_addresses(target, addresses)
        return addresses
