"""Which of the sinks there are a daemon uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.plugin import getPlugins

from ..sinks import plugins
from ..sinks.maker import ISinkMaker


def find() -> list[Any]:
    """Find every ``ISinkMaker``, the first of each name, in their order."""
    found: dict[str, Any] = {}
    ordered: Iterable[Any] = getPlugins(ISinkMaker, plugins)
    for maker in sorted(ordered, key=lambda maker: (maker.rank, maker.name)):
        found.setdefault(maker.name, maker)
    return list(found.values())


def chosen(makers: Iterable[Any], names: Iterable[str]) -> list[Any]:
    """Return the makers that are named; when no name is, the default ones."""
    wanted = set(names)
    return [m for m in makers if (m.name in wanted if wanted else m.is_default)]
