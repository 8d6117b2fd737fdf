"""
The certificate authorities that this machine trusts.

They are read from the paths compiled into Python's OpenSSL, not from those that
``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name.
"""

from __future__ import annotations

import ssl
import sys
from pathlib import Path


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


def windows_certificates() -> list[bytes]:
    """Return the authorities in the stores of Windows, in DER; elsewhere none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if sys.platform == "win32":
        context.load_default_certs()
    return context.get_ca_certs(binary_form=True)
