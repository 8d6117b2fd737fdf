"""Refusals of the daemon in plain words."""

from __future__ import annotations

from typing import Any, Final

from ...protocol.errors import BridgeError, Code, Prefix
from ...protocol.text import visible

_HINTS: Final = {
    Prefix.APPROVAL_UNAVAILABLE: "run: plugin-bridge doctor --prompt",
    Prefix.BUILD_FAILED: "run: plugin-bridge doctor",
    Prefix.NOT_INSTALLED: "to list what is installed, run: plugin-bridge list",
    Prefix.NOT_TRUSTED: "to list the accepted keys, run: plugin-bridge keys",
}
_PREFIXES: Final = {str(prefix): prefix for prefix in Prefix}


def prefix_of(error: BridgeError) -> Prefix | None:
    """Return what the message of a refused operation starts with."""
    return _PREFIXES.get(error.message.partition(": ")[0])


def plain(error: BridgeError) -> str:
    """Return a refusal as one line for people."""
    prefix = prefix_of(error)
    if prefix is None:
        again = error.code is Code.RATE_LIMITED
        return visible(error.message) + "; try again in a moment" * again
    detail = visible(error.message.partition(": ")[2])
    if prefix is Prefix.NOT_HTTPS:
        return detail  # it names the field and the rule
    hint = _HINTS.get(prefix)
    return f"{prefix.meaning}: {detail}" + (f"; {hint}" if hint else "")


def as_json(code: str, message: str) -> dict[str, Any]:
    """Return what ``--json`` prints for a command that failed."""
    return {"error": {"code": code, "message": message}}
