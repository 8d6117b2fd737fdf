"""
Machine-readable descriptions of what the daemon accepts and answers.

::

    protocol.json           the protocol: frames, methods, events, errors, limits
    plugin.HOST.json        plugin.json, for a host that ships, and for any
    host.json               a host profile

``docs/generate.py`` writes them from the code.  The schema for the reference host is
in its sources, ``packages/api/plugin.schema.json``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

PROTOCOL_FILE: Final = "protocol.json"


def read_schema(name: str) -> bytes:
    """Read one of the files."""
    return (Path(__file__).parent / name).read_bytes()
