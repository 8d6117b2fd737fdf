"""The address of the session bus, by the D-Bus specification's "Server Addresses"."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import Final

from ..system.users import is_own

VARIABLE: Final = "DBUS_SESSION_BUS_ADDRESS"
RUNTIME: Final = "XDG_RUNTIME_DIR"

_VALUE: Final = re.compile(r"(?:[-0-9A-Za-z_/.\\*]|%[0-9A-Fa-f]{2})*")


def session_sockets(environ: Mapping[str, str]) -> list[str]:
    """
    Return the Unix sockets at which the session bus may listen, best first.

    :param environ: ``DBUS_SESSION_BUS_ADDRESS`` is followed; when it is unset or
        empty, the bus of the user's runtime directory is looked for.
    :return: Paths; an abstract socket's name begins with NUL.  Empty when there is no
        session bus, or none that a Unix socket leads to.
    """
    given = environ.get(VARIABLE, "")
    if given:
        return list(_parsed(given, environ))
    return [path for path in _of_runtime_directory(environ) if _is_own_socket(path)]


def names_bus(environ: Mapping[str, str]) -> bool:
    """
    Whether a session bus may appear where this environment leads.

    A process's environment does not change, so where it leads nowhere, none ever will.
    """
    return bool(environ.get(VARIABLE) or os.path.isabs(environ.get(RUNTIME, "")))


def _parsed(addresses: str, environ: Mapping[str, str]) -> Iterator[str]:
    for address in addresses.split(";"):
        transport, colon, rest = address.partition(":")
        keys = _keys(rest)
        if transport != "unix" or not colon or keys is None:
            continue
        if keys.get("path"):
            yield keys["path"]
        elif keys.get("abstract"):
            yield "\0" + keys["abstract"]
        elif keys.get("runtime") == "yes":
            yield from _of_runtime_directory(environ)


def _keys(text: str) -> dict[str, str] | None:
    """Read ``key=value,...``; ``None`` when it is malformed."""
    found: dict[str, str] = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not key or not equals or key in found or not _VALUE.fullmatch(value):
            return None
        decoded = _decoded(value)
        if "\0" in decoded:
            return None
        found[key] = decoded
    return found


def _decoded(value: str) -> str:
    plain = re.sub(
        rb"%([0-9A-Fa-f]{2})",
        lambda escape: bytes.fromhex(escape[1].decode("ascii")),
        value.encode("ascii"),
    )
    return os.fsdecode(plain)


def _of_runtime_directory(environ: Mapping[str, str]) -> Iterator[str]:
    directory = environ.get(RUNTIME, "")
    if os.path.isabs(directory):
        yield os.path.join(directory, "bus")


def _is_own_socket(path: str) -> bool:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISSOCK(found.st_mode) and is_own(found)
