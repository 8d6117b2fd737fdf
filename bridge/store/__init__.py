"""The state store: JSON values by namespace and key, in one file."""

from __future__ import annotations

from .store import Store, StoreError
from .tables import DAEMON_PREFIX, Drop, Edit, Put, Remove

__all__ = ["DAEMON_PREFIX", "Drop", "Edit", "Put", "Remove", "Store", "StoreError"]
