"""
Checking a notification of 14 fields: attrs and cattrs against msgspec's structs.

Run ``python -m benchmarks.validation``.  Both read the same JSON into an instance.
msgspec reads it into a struct with the same rules and, because it checks lengths much
faster than characters, into one with the same types, lengths and ranges only.  Neither
limits depth, or refuses integers that no double holds.  Prints microseconds and ratios.
"""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

import orjson

from bridge.protocol.limits import (
    NOTIFY_CONTENT_CHARACTERS,
    NOTIFY_ICON_CHARACTERS,
    NOTIFY_LEAST_HEIGHT,
    NOTIFY_MOST_HEIGHT,
    NOTIFY_SINK_CHARACTERS,
    NOTIFY_SINKS,
    NOTIFY_SOURCE_CHARACTERS,
    NOTIFY_TIMEOUT_SECONDS,
    NOTIFY_TITLE_CHARACTERS,
)
from bridge.protocol.rules import NOT_BLANK
from bridge.protocol.strictjson import loads
from bridge.protocol.text import CONTROLS
from bridge.protocol.wire import converter, structure
from bridge.services.notify import Sending
from bridge.sinks.notification import SOUNDS

from .call import NOTIFICATION, best
from .sockets import SCRATCH

_LINE: Final = f"^[^{CONTROLS}]*$"
_LINES: Final = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$"
_SHOWN: Final = f"[^{CONTROLS}{NOT_BLANK.removeprefix('[^')}"
_TITLE: Final = f"^[^{CONTROLS}]*{_SHOWN}[^{CONTROLS}]*$"


def measure(rounds: int = 5) -> dict[str, list[float]]:
    """Check it by the daemon and by msgspec in turns; microseconds by who does it."""
    text = orjson.dumps(NOTIFICATION)
    ways: dict[str, Callable[[], Any]] = {
        "plugin-bridge": lambda: structure(converter, loads(text), Sending)
    }
    msgspec = _msgspec()
    if msgspec is None:
        print("msgspec can't be installed, and is left out", file=sys.stderr)
    else:
        strict = msgspec.json.Decoder(_struct(msgspec, characters=True))
        loose = msgspec.json.Decoder(_struct(msgspec, characters=False))
        ways["msgspec, same rules"] = lambda: strict.decode(text)
        ways["msgspec, lengths and ranges"] = lambda: loose.decode(text)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(best(way))
    return found


def _msgspec() -> Any:
    """Return the package; installs it first, apart from what the daemon uses."""
    folder = SCRATCH / "msgspec"
    with contextlib.suppress(subprocess.CalledProcessError, OSError, ImportError):
        if not (folder / "msgspec").exists():
            install = ("pip", "install", "--quiet", f"--target={folder}", "msgspec")
            command = [sys.executable, "-m", *install]
            subprocess.run(command, check=True, capture_output=True)
        # Behind everything else: nothing of ours is replaced by what comes with it.
        sys.path.append(str(folder))
        return importlib.import_module("msgspec")
    return None


def _struct(msgspec: Any, *, characters: bool) -> Any:
    """Return the struct; with rules for characters, or for lengths and ranges only."""

    def text(most: int, pattern: str | None = None, least: int = 0) -> Any:
        if not characters:
            pattern = None
        rule = msgspec.Meta(min_length=least, max_length=most, pattern=pattern)
        return Annotated[str, rule]

    def number(least: float, most: float) -> Any:
        return Annotated[float, msgspec.Meta(ge=least, le=most)]

    names = msgspec.Meta(min_length=1, max_length=NOTIFY_SINKS)
    sinks = Annotated[list[text(NOTIFY_SINK_CHARACTERS, least=1)], names]  # type: ignore[misc,valid-type]
    optional = {
        "content": text(NOTIFY_CONTENT_CHARACTERS, _LINES),
        "timeoutSecs": number(0, NOTIFY_TIMEOUT_SECONDS),
        "icon": text(NOTIFY_ICON_CHARACTERS, _LINE),
        "useBase64Icon": bool,
        "sourceApp": text(NOTIFY_SOURCE_CHARACTERS, _LINE),
        "sound": bool,
        "volume": number(0, 1),
        "audioPath": Literal[("", *SOUNDS)],
        "height": number(NOTIFY_LEAST_HEIGHT, NOTIFY_MOST_HEIGHT),
        "opacity": number(0, 1),
        "urgency": Literal["low", "normal", "critical"],
        "alwaysShow": bool,
        "sinks": sinks,
        "overrides": dict[str, Any],
    }
    title = ("title", text(NOTIFY_TITLE_CHARACTERS, _TITLE, least=1))
    fields = [title, *((name, kind | None, None) for name, kind in optional.items())]
    return msgspec.defstruct(
        "Sending", fields, forbid_unknown_fields=True, frozen=True, kw_only=True
    )


def best_of(found: Mapping[str, list[float]]) -> dict[str, float]:
    """Return the best round of each."""
    return {name: min(times) for name, times in found.items()}


def main() -> None:
    """Measure, and print."""
    peers = best_of(measure())
    ours = peers.pop("plugin-bridge")
    print(f"plugin-bridge {ours:.2f} us")
    for name, theirs in peers.items():
        print(f"{name} {theirs:.2f} us: {ours / theirs:.1f}")


if __name__ == "__main__":
    main()
