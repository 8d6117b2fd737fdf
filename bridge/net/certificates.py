"""
The certificate authorities that this machine trusts.

They are read from the paths compiled into Python's OpenSSL, not from those that
``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name.
"""

from __future__ import annotations

import contextlib
import re
import ssl
import sys
from pathlib import Path

_CERTIFICATE = re.compile(
    rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----", re.ASCII
)


class CaFileError(Exception):
    """A file of certificate authorities cannot be read, or holds none."""


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """
    Make a client's TLS context that trusts the system's certificate authorities.

    :param ca_file: PEM file of further authorities.
    :raise CaFileError: ``ca_file`` cannot be read, or holds no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if sys.platform == "win32":
        context.load_default_certs()
    else:
        for kind, path in trust_store_paths().items():
            context.load_verify_locations(**{kind: path})
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=str(ca_file))
        except (OSError, ssl.SSLError):
            raise CaFileError(f"{ca_file} cannot be used") from None
    return context


def trust_store_paths() -> dict[str, str]:
    """Return those of OpenSSL's ``cafile`` and ``capath`` that exist, by these keys."""
    compiled = ssl.get_default_verify_paths()
    named = {"cafile": compiled.openssl_cafile, "capath": compiled.openssl_capath}
    return {kind: path for kind, path in named.items() if Path(path).exists()}


def certificates() -> list[bytes]:
    """Read the system's trusted certificates, each once, in PEM.  Blocks."""
    found = trust_store_paths()
    files = [Path(found["cafile"])] if "cafile" in found else []
    if "capath" in found:
        files += sorted(Path(found["capath"]).iterdir())
    read: dict[bytes, None] = {}
    for file in files:
        with contextlib.suppress(OSError):  # a link that leads nowhere, a directory
            read |= dict.fromkeys(_CERTIFICATE.findall(file.read_bytes()))
    return list(read)
