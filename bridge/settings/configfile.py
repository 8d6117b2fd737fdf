"""
The user's configuration file: options that hold without being typed each time.

``config.toml`` in the user's configuration directory has the options' names as keys.
Command line and variables override it.
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import platformdirs
from attrs import field

from ..classes import frozen
from ..datadir.ownership import NotOwnError, check
from ..protocol.limits import CONFIG_FILE_BYTES
from ..protocol.nearest import nearest
from .tomllines import TomlLines

ONE_SHOT: Final = frozenset({"print-token", "rotate-token", "build-plugins"})
"""The options after which ``run`` exits; in the file, no daemon would ever start."""


class ConfigError(ValueError):
    """An option, variable or file that can't be used; the message names it."""


@frozen
class FileValues:
    """
    What the configuration file has.

    :ivar path: The file.
    :ivar texts: By option name: texts as on a command line, or whether a flag is set.
    :ivar lines: The line of each option, from 1; 0 when it is unknown.
    """

    path: Path | None = None
    texts: Mapping[str, list[str] | bool] = field(factory=dict)
    lines: Mapping[str, int] = field(factory=dict)

    def origin(self, name: str) -> str:
        """Return where an option is: file, line and key."""
        return f"{place(self.path, self.lines.get(name, 0))}: {name}"


NO_FILE: Final = FileValues()
"""No configuration file."""


def config_path() -> Path:
    """Return where the user's configuration file is, whether it exists or not."""
    return platformdirs.user_config_path("plugin-bridge") / "config.toml"


def read_file(path: Path, flags: Mapping[str, bool]) -> FileValues:
    """
    Read a configuration file; a missing one has no values.

    :param flags: Every option's name, and whether it is a flag.
    :raise ConfigError: Names the file, the line and the rule.
    """
    text = _text(path)
    if text is None:
        return FileValues(path)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        where = str(e).rpartition("(")[2].rstrip(")")
        raise ConfigError(f"{path}: not TOML: {where}") from None
    texts: dict[str, list[str] | bool] = {}
    lines: dict[str, int] = {}
    places = TomlLines.read(text)
    for key, value in values.items():
        line = lines[key] = places.of([key])
        where = place(path, line)
        if key not in flags:
            raise ConfigError(f"{where}: unknown option{nearest(key, flags)}")
        if key in ONE_SHOT:
            raise ConfigError(f"{where}: {key} is for the command line and variables")
        texts[key] = _texts(value, flags[key], f"{where}: {key}")
    return FileValues(path, texts, lines)


def _text(path: Path) -> str | None:
    try:
        check(path)
        # Opening a pipe would wait for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(f"{path}: must be a regular file")
        with path.open("rb") as file:
            content = file.read(CONFIG_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotOwnError as e:
        raise ConfigError(str(e)) from None
    except OSError as e:
        raise ConfigError(f"{path}: cannot be read: {e.strerror}") from None
    if len(content) > CONFIG_FILE_BYTES:
        raise ConfigError(f"{path}: must have at most {CONFIG_FILE_BYTES} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: must be UTF-8") from None


def _texts(value: Any, flag: bool, where: str) -> list[str] | bool:
    """
    Return a value as on a command line.

    :raise ConfigError: It has the wrong type.
    """
    if flag:
        if type(value) is not bool:
            raise ConfigError(f"{where}: must be true or false")
        return value
    values = value if type(value) is list else [value]
    if any(type(one) not in (str, int, float) for one in values):
        raise ConfigError(f"{where}: must be a string, a number or a list of strings")
    return [str(one) for one in values]


def place(path: Path | str | None, line: int) -> str:
    """Format where something is in a file."""
    return f"{path}, line {line}" if line else f"{path}"
