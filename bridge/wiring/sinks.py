"""The sinks there are, and which of them a daemon uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SINKS: Final = {
    "overlay": True,
    "freedesktop": True,
    "xsoverlay": False,
    "ovrtoolkit": False,
}
"""By name, in their order: whether it is made when no ``--sink`` is given."""


def chosen(names: Iterable[str]) -> list[str]:
    """Return the sinks that are named; when none is, the default ones."""
    wanted = set(names)
    return [n for n, usual in SINKS.items() if (n in wanted if wanted else usual)]
