"""
Whose certificates are believed: one TLS context for every connection.

Its authorities are the system's and those of a file.  The system's are read from the
paths compiled into Python's OpenSSL, not from those that ``SSL_CERT_FILE`` and
``SSL_CERT_DIR`` name.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

from attrs import field
from OpenSSL import SSL
from OpenSSL.crypto import FILETYPE_ASN1, X509, load_certificate
from service_identity.hazmat import DNS_ID, IPAddress_ID, verify_service_identity
from service_identity.pyopenssl import extract_patterns
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.ssl import CertificateOptions
from zope.interface import implementer

from ..classes import define
from ..protocol.errors import unavailable
from .target import refused

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


@implementer(IOpenSSLClientConnectionCreator)
@define(eq=False, repr=False)
class HostTLS:
    """
    Makes TLS connections to one host.

    Twisted's own would give each a context, and takes a certificate without any
    alternative name for one of this host.
    """

    _context: SSL.Context
    _host: str
    _wanted: DNS_ID | IPAddress_ID = field(init=False)

    def __attrs_post_init__(self) -> None:
        try:
            self._wanted = IPAddress_ID(self._host)
        except ValueError:
            self._wanted = _dns_id(self._host)

    def clientConnectionForTLS(self, tlsProtocol: Any) -> SSL.Connection:
        """See ``IOpenSSLClientConnectionCreator``."""
        connection = SSL.Connection(self._context, None)
        is_good = partial(_is_good, self._wanted)
        connection.set_verify(
            SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, is_good
        )
        if isinstance(self._wanted, DNS_ID):
            connection.set_tlsext_host_name(self._host.encode("ascii"))
        return connection


def _dns_id(host: str) -> DNS_ID:
    try:
        return DNS_ID(host)
    except ValueError:
        raise refused("not a host name that a certificate can be for") from None


def _is_good(
    wanted: DNS_ID | IPAddress_ID,
    connection: SSL.Connection,
    certificate: X509,
    error: int,
    depth: int,
    ok: int,
) -> bool:
    """Whether a certificate of a chain is good; the first has to name the host."""
    if depth or not ok:
        return bool(ok)
    try:
        verify_service_identity(extract_patterns(certificate), [wanted], [])
    except Exception:  # noqa: BLE001 (without a usable name it is for nobody)
        return False
    return True
