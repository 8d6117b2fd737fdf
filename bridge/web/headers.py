"""The headers of every response, whatever it answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ALWAYS: Final[Mapping[bytes, bytes]] = MappingProxyType(
    {
        b"content-type": b"application/json",
        b"cache-control": b"no-store",
        b"content-security-policy": b"default-src 'none'",
        b"cross-origin-resource-policy": b"same-origin",
        b"vary": b"Origin",
        b"x-content-type-options": b"nosniff",
    }
)
"""Nothing here is for a browser to keep, guess at, show or embed."""
