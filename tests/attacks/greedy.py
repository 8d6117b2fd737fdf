"""The plugins that take more than their part, and the honest one next to them."""

from pathlib import Path
from typing import Any, Final

from .placing import Placed, from_directory

_HERE: Final = Path(__file__).parent
_TARGETS: Final = (("native", "notify/targets"),)
_ALLOWED: Final = {"starving": _TARGETS, "naming": (("native", "notify/send"),)}
_ASKS: Final = {"asking": ["network"], "starving": ["native"], "naming": ["native"]}
NO_IDS: Final = frozenset({"host", "bridge"})
"""Greedy ones that no build takes."""
_LONG: Final = "Asking for nothing that matters. Press Allow. " * 4


def greedy() -> list[Placed]:
    """All greedy plugins."""
    plugins = []
    for path in sorted((_HERE / "greedy").glob("*.ts")):
        name, source = path.stem, path.read_text("utf-8")
        manifest: dict[str, Any] = {"permissions": _ASKS.get(name, [])}
        if name == "asking":
            manifest["name"] = _LONG[:200].strip()
        plugins.append(
            Placed(name, {"main.ts": source}, manifest, _ALLOWED.get(name, ()))
        )
    return plugins


def honest() -> Placed:
    """The honest plugin; the user has allowed what it does."""
    return from_directory(_HERE / "honest", allowed=_TARGETS)
