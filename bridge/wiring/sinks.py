"""The sinks there are, and which of them a daemon uses."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

from ..sinks.parts import SinkParts

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


def make_sink(name: str, parts: SinkParts) -> Any:
    """Make an ``ISink``; only those that are used are loaded, by the module's name."""
    return import_module(f"bridge.sinks.{name}").make(parts)
