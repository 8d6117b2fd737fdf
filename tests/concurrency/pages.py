"""A page, as far as what it shares is concerned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field


@define(eq=False)
class Page:
    """Goes away when the test wants."""

    gone: bool = False
    ends: dict[Callable[[Any], None], None] = field(factory=dict)

    def notify(self, event: str, data: Any) -> None:
        """Ignore it."""

    def on_close(self, call: Callable[[Any], None]) -> None:
        """See ``bridge.rpc.caller.Caller``."""
        if self.gone:
            call(self)
        else:
            self.ends[call] = None

    def go(self) -> None:
        """Go away."""
        self.gone = True
        for call in self.ends:
            call(self)
