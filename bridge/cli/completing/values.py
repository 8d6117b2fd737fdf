"""Which values an option or an argument of a command can have."""

from __future__ import annotations

from enum import Enum, auto
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from twisted.python import usage

from ...classes import frozen
from ...plugins.installed.ids import RECORDS
from ...plugins.installed.keys import KEYS
from ...protocol.strictjson import loads_own
from ...schemas import PROTOCOL_FILE, read_schema
from ...settings.config import LOG_FORMATS, LOG_LEVELS, ConfigError
from ...settings.host import SHIPPED, host_commands
from ...settings.options import HostOptions
from ...store import StoreError, read_state
from ...wiring.sinks import SINKS


class Kind(Enum):
    """How a shell finds the values."""

    WORDS = auto()
    DIRECTORIES = auto()
    FILES = auto()
    NOTHING = auto()
    SERVICES = auto()
    PLUGINS = auto()
    KEYS = auto()


@frozen
class Values:
    """
    The values of an option or argument.

    :ivar words: For ``Kind.WORDS``: all of them.
    """

    kind: Kind
    words: tuple[str, ...] = ()


FILES: Final = Values(Kind.FILES)
_DIRECTORIES: Final = Values(Kind.DIRECTORIES)
_NOTHING: Final = Values(Kind.NOTHING)
_LEVELS: Final = Values(Kind.WORDS, LOG_LEVELS)
_PLUGINS: Final = Values(Kind.PLUGINS)

SHELLS: Final = ("bash", "zsh", "fish")
"""Those that there is a script for."""

_OPTIONS: Final = {
    "host": Values(Kind.WORDS, SHIPPED),
    "log": _LEVELS,
    "level": _LEVELS,
    "list": Values(Kind.WORDS, ("plugins", "keys")),
    "log-format": Values(Kind.WORDS, LOG_FORMATS),
    "data-dir": _DIRECTORIES,
    "download": _DIRECTORIES,
    "theme-dir": _DIRECTORIES,
    **dict.fromkeys(
        (
            "allow-origin",
            "author",
            "burst",
            "description",
            "id",
            "lines",
            "listen",
            "log-max-bytes",
            "name",
            "page-port",
            "overlay-addr",
            "rate",
            "scope",
            "threads",
            "timeout-ms",
            "wayvr-addr",
        ),
        _NOTHING,
    ),
}

ARGUMENTS: Final = {
    "call": Values(Kind.SERVICES),
    "check": _DIRECTORIES,
    "completion": Values(Kind.WORDS, SHELLS),
    "dev": _DIRECTORIES,
    "disable": _PLUGINS,
    "enable": _PLUGINS,
    "export": FILES,
    "forget-key": Values(Kind.KEYS),
    "import": FILES,
    "new": _DIRECTORIES,
    "release": _DIRECTORIES,
    "sign": _DIRECTORIES,
    "uninstall": _PLUGINS,
    "update": _PLUGINS,
    "verify": _DIRECTORIES,
}
"""The arguments of the commands that have any to choose from."""

LISTED: Final = {"plugins": RECORDS, "keys": KEYS}
"""What ``listed`` lists, and the namespace of the state that has it."""


def values_of(option: str) -> Values:
    """
    Return what the value of an option can be.

    :param option: Its name, without dashes.
    """
    if option == "sink":
        return Values(Kind.WORDS, tuple(SINKS))
    return _OPTIONS.get(option, FILES)


@cache
def methods() -> dict[str, tuple[str, ...]]:
    """Return the methods of each service."""
    found: dict[str, list[str]] = {}
    for called in loads_own(read_schema(PROTOCOL_FILE))["methods"]:
        service, _, name = called.partition("/")
        found.setdefault(service, []).append(name)
    return {service: tuple(names) for service, names in found.items()}


def listed(what: str, words: list[str]) -> list[str]:
    """
    List what is installed or accepted in the data directory of a command line.

    :param what: One of ``LISTED``.
    :param words: The command line so far, the program first.
    :return: Sorted; nothing when the data directory cannot be read.
    """
    options = HostOptions()
    try:
        options.parseOptions(_where(words))
        view = read_state(options.paths().data.state)
    except (ConfigError, StoreError, OSError, SystemExit, usage.UsageError):
        return []
    return sorted(view.entries(LISTED[what]))


def _where(words: list[str]) -> list[str]:
    """Return the options of a command line that name a data directory."""
    host = host_commands().get(Path(words[0]).stem) if words else None
    found = [f"--host={host}"] if host else []
    # bash has the equals sign as a word of its own.
    rest = [word for word in words[1:] if word != "="]
    for word, following in pairwise([*rest, ""]):
        name, equals, _ = word.partition("=")
        if name in ("--host", "--data-dir"):
            value = word if equals else f"{name}={following}"
            if not value.endswith("="):
                found.append(value)
    return found
