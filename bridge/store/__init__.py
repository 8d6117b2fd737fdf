"""
The state store: JSON values by namespace and key, in one file.

``Store`` is in ``store``, which needs Twisted; what is here only reads.
"""

from __future__ import annotations

from .generations import StoreError, read_state
from .tables import DAEMON_PREFIX, Drop, Edit, Put, Remove, Tables

__all__ = [
    "DAEMON_PREFIX",
    "Drop",
    "Edit",
    "Put",
    "Remove",
    "StoreError",
    "Tables",
    "read_state",
]
