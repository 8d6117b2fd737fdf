"""
The start-up options: one table, from which everything about them is made.

The command line, the variables, ``--help``, the completions of the shells and the
reference page come from the fields of ``Config``; ``bridge.settings.options`` makes
click's options of them.

The user's configuration file has options that hold without being typed each time:
``config.toml`` in the user's configuration directory, with the options' names as keys.
Command line and variables override it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import platformdirs
from attrs import evolve, field, fields

from ..classes import frozen
from ..datadir.ownership import NotOwnError, check
from ..protocol import limits
from ..protocol.text import nearest, visible
from ..system.files import TooLargeError, read_bounded
from . import values
from .values import Address

LOG_LEVELS = ("debug", "info", "warn", "error")
"""Of log lines, the daemon's and the page's; the least first."""

LOG_FORMATS = ("text", "json")

SHIPPED = ("vrcnext", "reference")
"""The hosts whose profiles ship with the daemon."""


PATHS: Final = {"DIR": "dir", "FILE": "file", "NAME|PATH": "file"}
"""The placeholders of paths, and what a shell completes there."""

_OPTION = "option"


class ConfigError(ValueError):
    """An option, variable or file that can't be used; the message names it."""


@frozen
class Option:
    """
    One option.

    :ivar value: The placeholder of its value in ``--help``; ``None`` for a flag.
    :ivar default: As written on a command line.
    :ivar usual: What applies without a value, in words, when that is no ``default``.
    :ivar read: Turns text into the value; ``ValueError`` names the rule.
    :ivar words: Values that a shell can complete.
    """

    about: str
    value: str | None = None
    default: str | None = None
    read: Callable[[str], Any] = values.truth
    repeatable: bool = False
    usual: str = ""
    words: tuple[str, ...] = ()
    name: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that sets it too."""
        return "BRIDGE_" + self.attribute.upper()

    @property
    def attribute(self) -> str:
        """Its name in ``Config``."""
        return self.name.replace("-", "_")


def _option(*described: Any, **more: Any) -> Any:
    """Make a field of ``Config``; see ``Option``, of which the field has the name."""
    option = Option(*described, **more)
    unset: Any = () if option.repeatable else False if option.value is None else None
    if option.default is not None:
        unset = option.read(option.default)
    once = (lambda values: tuple(dict.fromkeys(values))) if option.repeatable else None
    return field(default=unset, converter=once, metadata={_OPTION: option})


@frozen
class Config:
    """
    What the daemon was started with, and the table of its options.

    ``None`` means the profile's default.
    """

    listen: Address = _option(
        "address to listen on; it must be a loopback address",
        "ADDRESS:PORT",
        "127.0.0.1:42081",
        values.loopback,
    )
    host: str = _option(
        "host application: vrcnext, reference, or the path of a profile",
        "NAME|PATH",
        "vrcnext",
        values.host,
        words=SHIPPED,
    )
    sink: tuple[str, ...] = _option(
        "start only this notification sink: overlay, freedesktop, xsoverlay, "
        "or ovrtoolkit; repeatable",
        "NAME",
        read=values.name,
        repeatable=True,
        usual="overlay and freedesktop",
        words=("overlay", "freedesktop", "xsoverlay", "ovrtoolkit"),
    )
    overlay_addr: Address = _option(
        "UDP address of the VR overlay",
        "ADDRESS:PORT",
        "127.0.0.1:42069",
        values.loopback,
    )
    data_dir: Path | None = _option(
        "directory for plugins, settings, token and bundler",
        "DIR",
        read=values.path,
        usual="from the host's profile",
    )
    theme_dir: Path | None = _option(
        "directory from which the host application loads themes; the bundle is "
        "published there",
        "DIR",
        read=values.folder,
        usual="from the host's profile",
    )
    rate: float = _option(
        "requests per second on each page's socket, and over HTTP of programs, pages "
        "and other sites",
        "NUMBER",
        f"{limits.RATE_PER_SECOND:g}",
        values.positive,
    )
    burst: int = _option(
        "requests at once on each page's socket, or over HTTP, before --rate applies",
        "NUMBER",
        str(limits.RATE_BURST),
        values.whole(1, 1_000_000),
    )
    threads: int = _option(
        "number of threads that unpack, read and check plugins",
        "NUMBER",
        "4",
        values.whole(1, 64),
    )
    log: str = _option(
        "lowest level that the daemon logs: debug, info, warn or error",
        "LEVEL",
        "info",
        values.one_of(*LOG_LEVELS),
        words=LOG_LEVELS,
    )
    log_format: str = _option(
        "format of the daemon's own log lines: text or json",
        "FORMAT",
        "text",
        values.one_of(*LOG_FORMATS),
        words=LOG_FORMATS,
    )
    log_file: Path | None = _option(
        "log file of the page and plugins",
        "FILE",
        read=values.path,
        usual="logs/plugins.log in the data directory",
    )
    log_max_bytes: int = _option(
        "size at which the daemon rotates the page's log file",
        "BYTES",
        str(limits.LOG_FILE_BYTES),
        values.whole(4096, 2**40),
    )
    no_log_capture: bool = _option("discard what the page and plugins log")
    allow_origin: tuple[str, ...] = _option(
        "also accept pages of exactly this origin; repeatable",
        "ORIGIN",
        read=values.origin,
        repeatable=True,
    )
    ca_file: Path | None = _option(
        "for clones, also trust the certificates in this PEM file",
        "FILE",
        read=values.file,
    )
    public_clones_only: bool = _option(
        "refuse to clone from addresses that are not public"
    )
    dev: bool = _option(
        "developer mode: allow calls over HTTP and remote/eval, and approve EVERY "
        "operation without asking"
    )
    print_token: bool = _option("print the pairing token and exit")
    rotate_token: bool = _option(
        "replace the pairing token, print it and exit; pages must pair again"
    )
    build_plugins: bool = _option("build the bundle of page and plugins once and exit")

    @rotate_token.validator
    def _one_token_mode(self, _: Any, value: bool) -> None:
        if value and self.print_token:
            raise ConfigError("--print-token and --rotate-token exclude each other")


OPTIONS: tuple[Option, ...] = tuple(
    evolve(one.metadata[_OPTION], name=one.name.replace("_", "-"))
    for one in fields(Config)
)

BY_NAME = {option.name: option for option in OPTIONS}

HOST_OPTIONS = tuple(BY_NAME[name] for name in ("host", "data-dir", "theme-dir"))
"""The options every command takes."""

ONE_SHOT: Final = frozenset({"print-token", "rotate-token", "build-plugins"})
"""The options after which ``run`` exits; in the file, no daemon would ever start."""


def config_path() -> Path:
    """Return where the user's configuration file is, whether it exists or not."""
    return platformdirs.user_config_path("plugin-bridge") / "config.toml"


def read_file(path: Path | None = None) -> dict[str, Any]:
    """
    Read a configuration file; a missing one has no values.

    :param path: The user's, unless another is named.
    :return: By the options' names in ``Config``: texts as on a command line, a list of
        them, or whether a flag is set.
    :raise ConfigError: Names the file, the key and the rule.
    """
    path = path or config_path()
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


def configured() -> dict[str, Any]:
    """Return what applies to a command that is typed without options."""
    try:
        return read_file()
    except ConfigError:
        return {}


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
        content = read_bounded(os.path.realpath(path), limits.CONFIG_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except NotOwnError as e:
        raise ConfigError(str(e)) from None
    except TooLargeError:
        rule = f"must have at most {limits.CONFIG_FILE_BYTES} bytes"
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
    if option.value in PATHS and text not in option.words:
        text = os.path.expanduser(text)
        if not os.path.isabs(text):
            # It would be another one in each working directory.
            allowed = " or ".join([*option.words, "an absolute path"])
            raise ConfigError(f"{where}: must be {allowed}")
    return text
