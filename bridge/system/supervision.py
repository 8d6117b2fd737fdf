"""
How a process reports to a service supervisor, such as systemd, that started it.

The protocol is one datagram per message to the socket that ``NOTIFY_SOCKET`` names
(sd_notify(3)).  Without such a socket nothing is sent.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, TextIO

SOCKET: Final = "NOTIFY_SOCKET"


def notify(address: str, text: str) -> None:
    """
    Send a message; a supervisor that does not listen is ignored.

    :param address: Its socket: a path, or an abstract name that starts with ``@``.
    """
    if address[:1] not in ("/", "@"):
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(text.encode(), name)


def report_failure(why: str, address: str) -> None:
    """
    Report why the daemon does not start: to the user, the journal and the supervisor.

    :param address: See ``notify``.
    """
    notify(address, f"STATUS=could not start: {' '.join(why.split())}")
    level = "<3>" if to_journal(sys.stderr, os.environ) else ""
    sys.stderr.write(f"{level}plugin-bridge: {why}\n")


def to_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether ``stream`` is what ``JOURNAL_STREAM`` names (systemd.exec(5))."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
