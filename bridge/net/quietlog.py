"""Autobahn's log, as the WebSockets of pages and of sinks use it."""

from __future__ import annotations

from typing import Any


class QuietLog:
    """A log without its warnings, of which a peer may cause any number."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, level: str) -> Any:
        return getattr(self._log, "debug" if level == "warn" else level)
