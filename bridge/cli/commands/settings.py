"""``plugin-bridge config``: every option's value, and where it comes from."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, ClassVar

from ...settings.config import (
    OPTIONS,
    Option,
    origin_of,
    read_value,
)
from ...settings.configfile import ONE_SHOT, config_path
from ...settings.options import TableOptions
from ..terminal import print_json, print_line

SHOWN = tuple(option for option in OPTIONS if option.name not in ONE_SHOT)


class ConfigOptions(TableOptions):
    """The command line of ``plugin-bridge config``."""

    table: ClassVar[tuple[Option, ...]] = SHOWN
    synopsis = "Usage: plugin-bridge config [--json] [options of run]"
    longdesc = (
        "Prints the value of each option of the daemon, and where it comes from: the "
        "command line, a variable, config.toml in your configuration directory, or the "
        "default. The lines have the form of config.toml. Exit status: 0 done, 2 a "
        "value is wrong; the line names it."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["json", None, "print one JSON object"]
    ]


def main(arguments: list[str]) -> int:
    """Print every value with its origin; return the exit status."""
    options = ConfigOptions()
    options.parseOptions(arguments)
    values = {option.name: _described(options, option) for option in options.known}
    path = config_path()
    if options["json"]:
        print_json({"file": str(path), "options": values}, False)
        return 0
    print_line(f"# {path}" + ("" if path.exists() else " (does not exist)"))
    for name, found in values.items():
        print_line(_line(name, found))
    return 0


def _described(options: ConfigOptions, option: Option) -> dict[str, Any]:
    value = read_value(option, options.given, os.environ, options.file)
    origin = "default"
    if option.name in options.given or option.set_by(os.environ):
        origin = origin_of(option, options.given, os.environ, options.file)
    elif option.name in options.file.texts:
        line = options.file.lines.get(option.name, 0)
        origin = f"config.toml, line {line}" if line else "config.toml"
    return {"value": _plain(value), "origin": origin}


def _plain(value: Any) -> Any:
    """Return a value as plain JSON."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Path) or not isinstance(value, (str, int, float, type(None))):
        return str(value)
    return value


def _line(name: str, found: dict[str, Any]) -> str:
    if found["value"] is None:
        return f"# {name} is not set; the host's profile, or nothing, applies"
    return f"{name} = {_toml(found['value'])}  # {found['origin']}"


def _toml(value: Any) -> str:
    """Write a value in ASCII, so that every terminal shows what the file has."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return '"' + re.sub(r"[^ !#-\[\]-~]", _escaped, value) + '"'
    return str(value).lower()


def _escaped(found: re.Match[str]) -> str:
    # Beyond the basic plane TOML has eight digits, where JSON has two escapes.
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
