"""The name that a plugin goes by, in paths and in the state."""

from __future__ import annotations

from typing import Final

PLUGIN_ID: Final = r"[a-z0-9][a-z0-9-]{1,39}"
"""Matches every id, as a whole."""
