"""Which plugins are installed, by the state alone."""

from __future__ import annotations

import re
from typing import Any, Final, Protocol

from ...protocol.text import PLUGIN_ID

RECORDS: Final = "bridge.plugins"
"""By plugin id: the records."""

KEYS: Final = "bridge.plugin-keys"
"""By key id: the keys the user has accepted."""

TEMPORARY: Final = ".tmp-*"
"""Trees that operations move; an interrupted one leaves them."""


class Entries(Protocol):
    """Reads the state; ``Store`` does, and so do ``Tables``."""

    def get(self, ns: str, key: str) -> Any | None:
        """Return one value; ``None`` when there is none."""

    def entries(self, ns: str) -> dict[str, Any]:
        """Return the values of a namespace by key."""


def installed_ids(store: Entries) -> list[str]:
    """
    Return the ids of all records, sorted.

    A key that is no plugin id is left out: no path is ever made of it.
    """
    entries = store.entries(RECORDS)
    return [name for name in sorted(entries) if re.fullmatch(PLUGIN_ID, name)]
