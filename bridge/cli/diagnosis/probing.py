"""What listens at an address, asked over HTTP; no token is sent."""

from __future__ import annotations

import socket
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from ...datadir.control import connected
from ...protocol.errors import BridgeError
from ...protocol.strictjson import loads_own
from ...protocol.text import visible
from ...settings.options import Paths
from ...settings.values import Address, UnixAddress
from ...system.locks import is_held
from ..connection import listens_on

REQUEST_SECONDS: Final = 5.0
_ANSWER_BYTES: Final = 64 * 1024


def version_at(address: Address | UnixAddress) -> str | None:
    """Return the version of the daemon at an address; ``None`` of anything else."""
    status, answer = _get(address, "/v1/health")
    if status != HTTPStatus.OK or not isinstance(answer, dict):
        return None
    if answer.get("ok") is not True or "version" not in answer:
        return None
    return visible(str(answer["version"]))


def is_dev(place: Paths) -> bool:
    """Whether the daemon of the data directory runs with ``--dev``."""
    try:
        return is_held(place.data.lock) and is_dev_at(listens_on(place.data))
    except (OSError, ValueError):
        return False


def is_dev_at(address: Address | UnixAddress) -> bool:
    """Whether the daemon serves a path that needs ``--dev``; no token is sent."""
    return _get(address, "/v1/describe")[0] == HTTPStatus.UNAUTHORIZED


def _get(address: Address | UnixAddress, path: str) -> tuple[int, Any]:
    """Return the status and the JSON of an answer; 0 if there is no such answer."""
    connection = _Http(address)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read(_ANSWER_BYTES + 1)
        whole = len(body) <= _ANSWER_BYTES
        return (answer.status, loads_own(body)) if whole else (0, None)
    except (OSError, HTTPException, BridgeError):
        return 0, None
    finally:
        connection.close()


class _Http(HTTPConnection):
    """A connection to a daemon or another program, without a proxy."""

    def __init__(self, address: Address | UnixAddress) -> None:
        # The daemon has this name, whatever it listens on.
        port = None if isinstance(address, UnixAddress) else address.port
        super().__init__("localhost", port, timeout=REQUEST_SECONDS)
        self._address = address

    def connect(self) -> None:
        """See ``HTTPConnection.connect``."""
        address = self._address
        if isinstance(address, UnixAddress):
            self.sock = connected(address.path, REQUEST_SECONDS)
        else:
            self.sock = socket.create_connection(
                (address.host, address.port), REQUEST_SECONDS
            )
