"""
Whom this machine trusts to sign certificates.

The places are those compiled into Python's OpenSSL, not those that ``SSL_CERT_FILE``
and ``SSL_CERT_DIR`` would name.
"""

from __future__ import annotations

import contextlib
import re
import ssl
from pathlib import Path

_CERTIFICATE = re.compile(
    rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----", re.ASCII
)


def places() -> dict[str, str]:
    """Give the file and the directory of certificates, as far as they exist."""
    compiled = ssl.get_default_verify_paths()
    named = {"cafile": compiled.openssl_cafile, "capath": compiled.openssl_capath}
    return {kind: place for kind, place in named.items() if Path(place).exists()}


def certificates() -> list[bytes]:
    """Read the certificates in these places: each once, in PEM."""
    found = places()
    files = [Path(found["cafile"])] if "cafile" in found else []
    if "capath" in found:
        files += sorted(Path(found["capath"]).iterdir())
    read: dict[bytes, None] = {}
    for file in files:
        with contextlib.suppress(OSError):  # a link that leads nowhere, a directory
            read |= dict.fromkeys(_CERTIFICATE.findall(file.read_bytes()))
    return list(read)
