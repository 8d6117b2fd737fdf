"""
The user's configuration file: options that hold without being typed each time.

``config.toml`` in the user's configuration directory has the options' names as keys.
Command line and variables override it.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, Final

import platformdirs

from ..datadir.ownership import NotOwnError, check
from ..protocol.limits import CONFIG_FILE_BYTES
from ..protocol.text import nearest, visible
from ..system.files import TooLargeError, read_bounded
from .config import BY_NAME, ConfigError, Option
from .values import PATHS

ONE_SHOT: Final = frozenset({"print-token", "rotate-token", "build-plugins"})
"""The options after which ``run`` exits; in the file, no daemon would ever start."""


def config_path() -> Path:
    """Return where the user's configuration file is, whether it exists or not."""
    return platformdirs.user_config_path("plugin-bridge") / "config.toml"


def read_file(path: Path) -> dict[str, Any]:
    """
    Read a configuration file; a missing one has no values.

    :return: By the options' names in ``Config``: texts as on a command line, a list of
        them, or whether a flag is set.
    :raise ConfigError: Names the file, the key and the rule.
    """
    found = {}
    for key, value in read_toml(_text(path), str(path)).items():
        where = f"{path}: {visible(key)}"
        if key not in BY_NAME:
            raise ConfigError(f"{where}: unknown option{nearest(key, BY_NAME)}")
        if key in ONE_SHOT:
            raise ConfigError(f"{where}: is for the command line and variables")
        option = BY_NAME[key]
        found[option.attribute] = _value(value, option, where)
    return found


def read_toml(text: str, name: str) -> dict[str, Any]:
    """
    Read the text of a file.

    :raise ConfigError: Names the file, and the place that is no TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        where = str(e).rpartition("(")[2].rstrip(")")
        raise ConfigError(f"{name}: not TOML: {where}") from None


def _text(path: Path) -> str:
    try:
        check(path)
        content = read_bounded(os.path.realpath(path), CONFIG_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except NotOwnError as e:
        raise ConfigError(str(e)) from None
    except TooLargeError:
        rule = f"must have at most {CONFIG_FILE_BYTES} bytes"
        raise ConfigError(f"{path}: {rule}") from None
    except OSError as e:
        raise ConfigError(f"{path}: cannot be read: {e.strerror}") from None
    try:
        return content.decode("utf-8-sig")  # editors of Windows may add the mark
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: must be UTF-8") from None


def _value(value: Any, option: Option, where: str) -> str | list[str] | bool:
    """
    Return a value as on a command line.

    :raise ConfigError: It has the wrong type.
    """
    if option.value is None:
        if type(value) is not bool:
            raise ConfigError(f"{where}: must be true or false")
        return value
    values = value if type(value) is list else [value]
    if any(type(one) not in (str, int, float) for one in values):
        raise ConfigError(f"{where}: must be a string, a number or a list of strings")
    if option.repeatable:
        return [str(one) for one in values]
    if len(values) != 1:
        raise ConfigError(f"{where}: must be one value")
    text = str(values[0])
    if option.read in PATHS and text not in option.words:
        text = os.path.expanduser(text)
        if not os.path.isabs(text):
            # It would be another one in each working directory.
            allowed = " or ".join([*option.words, "an absolute path"])
            raise ConfigError(f"{where}: must be {allowed}")
    return text
