"""
Readers of option values: from text to a value, or a ``ValueError`` that names the rule.

No message repeats the text.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..classes import frozen

HTTP_PORT: Final = 80
"""What a Host header means that names no port (RFC 9110, section 4.2.1)."""

_UNIX: Final = "unix:"
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s/?#@*,]+)", re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


@frozen
class Address:
    """A loopback address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@frozen
class UnixAddress:
    """
    The path of a Unix-domain socket.

    :ivar path: Absolute.
    """

    path: str

    def __str__(self) -> str:
        return f"{_UNIX}{self.path}"


def listened_on(text: str) -> Address | UnixAddress:
    """Read the address that a daemon publishes."""
    if not text.startswith(_UNIX):
        return loopback(text)
    named = text.removeprefix(_UNIX)
    if not named.startswith("/"):
        raise ValueError("must be unix: and an absolute path")
    return UnixAddress(named)


def loopback(text: str) -> Address:
    """Read an address with its port; loopback only."""
    host, colon, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback or "%" in host:
        raise ValueError("must be ADDRESS:PORT with a loopback address")
    if not (colon and port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError("must be ADDRESS:PORT with a port from 0 to 65535")
    return Address(host, int(port))


def positive(text: str) -> float:
    """Read a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError("must be a number above 0")
    return value


def whole(low: int, high: int) -> Callable[[str], int]:
    """Make a reader of whole numbers from ``low`` to ``high``."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def one_of(*allowed: str) -> Callable[[str], str]:
    """Make a reader of one of these words."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return text

    return read


def path(text: str) -> Path:
    """Read a path, made absolute; ``~`` is the home directory."""
    if not text or "\0" in text:
        raise ValueError("must be a path")
    try:
        found = Path(text).expanduser().absolute()
    except RuntimeError:
        raise ValueError("must be a path; there is no such user") from None
    if not is_utf8(found):
        raise ValueError("must be a path in UTF-8")
    return found


def is_utf8(path: Path | str) -> bool:
    """Whether a path can be named to a page, in JSON."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def name(text: str) -> str:
    """Read a name, which is not empty."""
    if not text:
        raise ValueError("must not be empty")
    return text


def host(text: str) -> str:
    """Read the name of a host, or the path of a profile."""
    return str(path(text)) if text.startswith("~") else name(text)


def origin(text: str) -> str:
    """Read an origin that may be added to the allowlist; give it as browsers do."""
    if text == "file://":
        return text
    found = _ORIGIN.fullmatch(text)
    if found is None:
        raise ValueError("must be SCHEME://HOST or SCHEME://HOST:PORT, or file://")
    scheme, host = found[1].lower(), found[2]
    if port := _DEFAULT_PORTS.get(scheme):
        host = host.lower().removesuffix(port)
    return f"{scheme}://{host}"


def file(text: str) -> Path:
    """Read the path of an existing file."""
    found = path(text)
    # ``Path`` would raise for what is in a directory that can't be entered.
    if not os.path.isfile(found):
        raise ValueError("must be an existing file")
    return found


def folder(text: str) -> Path:
    """Read the path of a directory, which need not exist yet."""
    found = path(text)
    if os.path.exists(found) and not os.path.isdir(found):
        raise ValueError("must be a directory, or nothing yet")
    return found


def truth(text: str) -> bool:
    """Read what switches a flag on or off."""
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("", "0", "false", "no", "off"):
        return False
    raise ValueError("must be 1 or 0")
