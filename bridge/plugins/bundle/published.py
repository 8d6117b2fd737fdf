"""The names in the theme's folder that a start looks for."""

from __future__ import annotations

from typing import Final

INFO_FILE: Final = "info.json"
"""What the bundle was built of."""

STAGING_PREFIX: Final = ".build-"
"""Of the directory that a build works in; a killed one leaves it."""
