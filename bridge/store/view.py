"""The state as another process left it: read once, never written."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from attrs import field, frozen

from ..datadir.ownership import NotOwnError
from ..protocol.errors import BridgeError
from ..protocol.strictjson import loads_unique
from .generations import Generations, read_file
from .store import StoreError


@frozen
class StateView:
    """JSON values by namespace and key; see ``Store``."""

    _values: dict[str, dict[str, Any]] = field(factory=dict)

    @classmethod
    def read(cls, path: Path) -> StateView:
        """
        Read the file, which a running daemon replaces whole.

        Where it is missing the previous generation is read, as the daemon does.

        :raise StoreError: It can't be read, or another user may have written it;
            starting the daemon repairs what it can.
        """
        for file in (path, Generations(path).previous):
            with contextlib.suppress(FileNotFoundError):
                return cls(_values(file))
        return cls()

    def namespaces(self) -> list[str]:
        """Name every namespace, sorted."""
        return sorted(self._values)

    def entries(self, ns: str) -> dict[str, Any]:
        """Return the values of a namespace by key."""
        return dict(self._values.get(ns, {}))


def _values(path: Path) -> dict[str, dict[str, Any]]:
    try:
        values = loads_unique(read_file(path))
    except FileNotFoundError:
        raise
    except NotOwnError as e:
        raise StoreError(str(e)) from None
    except OSError as e:
        raise StoreError(f"{path} cannot be read: {e.strerror}") from None
    except BridgeError:
        raise StoreError(f"{path} is damaged; starting the daemon repairs it") from None
    if type(values) is not dict or any(type(v) is not dict for v in values.values()):
        raise StoreError(f"{path} has a shape this version does not know")
    return values
