"""
The start-up options: one table, from which everything about them is made.

The command line, the environment, ``--help`` and the reference page all come from
``OPTIONS``; ``read_config`` turns what was given into one frozen ``Config``.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from .protocol import limits

LOG_LEVELS = ("debug", "info", "warn", "error")
LOG_FORMATS = ("text", "json")
SINKS = ("overlay", "freedesktop")

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@*,]+", re.IGNORECASE)


class ConfigError(ValueError):
    """An option or variable that can't be used; the message names it."""


@frozen
class Address:
    """A loopback address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _loopback(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback or "%" in host:
        raise ValueError("must be ADDRESS:PORT with a loopback address")
    if not (colon and port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError("must be ADDRESS:PORT with a port from 0 to 65535")
    return Address(host, int(port))


def _positive(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise ValueError("must be a number above 0")
    return value


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def _one_of(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return text

    return read


def _path(text: str) -> Path:
    if not text:
        raise ValueError("must be a path")
    return Path(text).expanduser().absolute()


def _name(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _origin(text: str) -> str:
    if text == "file://" or _ORIGIN.fullmatch(text):
        return text
    raise ValueError("must be SCHEME://HOST or SCHEME://HOST:PORT, or file://")


def _file(text: str) -> Path:
    path = _path(text)
    if not path.is_file():
        raise ValueError("must be a file that is there")
    return path


def _folder(text: str) -> Path:
    path = _path(text)
    if path.exists() and not path.is_dir():
        raise ValueError("must be a directory, or nothing yet")
    return path


def _truth(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("", "0", "false", "no", "off"):
        return False
    raise ValueError("must be 1 or 0")


@frozen
class Option:
    """
    One option.

    :ivar value: What stands for its value in ``--help``; ``None`` for a flag.
    :ivar default: As written on a command line.
    :ivar read: Turns text into the value; ``ValueError`` says the rule.
    """

    name: str
    about: str
    value: str | None = None
    default: str | None = None
    read: Callable[[str], Any] = _truth
    repeatable: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it too."""
        return "BRIDGE_" + self.attribute.upper()

    @property
    def attribute(self) -> str:
        """Its name in ``Config``."""
        return self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option(
        "listen",
        "listen address; a non-loopback address is refused",
        "ADDRESS:PORT",
        "127.0.0.1:42081",
        _loopback,
    ),
    Option(
        "host",
        "host application: vrcnext, reference, or the path of a profile",
        "NAME|PATH",
        "vrcnext",
        _name,
    ),
    Option(
        "sink",
        "enable only this notification sink; repeatable",
        "NAME",
        read=_name,
        repeatable=True,
    ),
    Option(
        "overlay-addr",
        "where the overlay sink's UDP listener is",
        "ADDRESS:PORT",
        "127.0.0.1:42069",
        _loopback,
    ),
    Option(
        "data-dir",
        "root of plugins, host sources, bundler, state and token; "
        "the host profile's by default",
        "DIR",
        read=_path,
    ),
    Option(
        "theme-dir",
        "where the host application loads themes from; the profile's by default",
        "DIR",
        read=_folder,
    ),
    Option(
        "rate",
        "requests a second, for each socket",
        "NUMBER",
        f"{limits.RATE_PER_SECOND:g}",
        _positive,
    ),
    Option(
        "burst",
        "requests at once, for each socket",
        "NUMBER",
        str(limits.RATE_BURST),
        _whole(1, 1_000_000),
    ),
    Option(
        "threads",
        "threads for clones, and as many for scans and signature checks; "
        "frames, HTTP and settings never wait for them",
        "NUMBER",
        "4",
        _whole(1, 64),
    ),
    Option(
        "log",
        "least level that is logged: debug, info, warn or error",
        "LEVEL",
        "info",
        _one_of(*LOG_LEVELS),
    ),
    Option(
        "log-format",
        "form of the daemon's own log lines: text or json",
        "FORM",
        "text",
        _one_of(*LOG_FORMATS),
    ),
    Option(
        "log-file",
        "file of the page's log lines; logs/plugins.log in the data directory "
        "by default",
        "FILE",
        read=_path,
    ),
    Option(
        "log-max-bytes",
        "size at which that file is rotated",
        "BYTES",
        str(limits.LOG_FILE_BYTES),
        _whole(4096, 2**40),
    ),
    Option("no-log-capture", "take the page's log lines and drop them"),
    Option(
        "allow-origin",
        "let pages of this origin in too, compared exactly; repeatable",
        "ORIGIN",
        read=_origin,
        repeatable=True,
    ),
    Option(
        "ca-file",
        "trust the certificates in this PEM file, beside the system's, for clones",
        "FILE",
        read=_file,
    ),
    Option("public-clones-only", "refuse to clone from addresses that are not public"),
    Option(
        "dev",
        "developer mode: calls by HTTP, remote/eval, and NO prompts: "
        "every operation is approved unasked",
    ),
    Option("print-token", "print the pairing token and exit"),
    Option(
        "rotate-token",
        "replace the pairing token, print it and exit; every page must pair again",
    ),
    Option("build-plugins", "build the bundle once and exit"),
)

BY_NAME = {option.name: option for option in OPTIONS}

HOST_OPTIONS = tuple(BY_NAME[name] for name in ("host", "data-dir", "theme-dir"))
"""The options every command takes."""


@frozen
class Config:
    """What the daemon was started with; ``None`` means the profile's default."""

    listen: Address
    host: str
    overlay_addr: Address
    rate: float
    burst: int
    threads: int
    log: str
    log_format: str
    log_max_bytes: int
    sink: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    data_dir: Path | None = None
    theme_dir: Path | None = None
    log_file: Path | None = None
    ca_file: Path | None = None
    no_log_capture: bool = False
    public_clones_only: bool = False
    dev: bool = False
    print_token: bool = False
    rotate_token: bool = field(default=False)
    build_plugins: bool = False

    @rotate_token.validator
    def _one_token_mode(self, _: Any, value: bool) -> None:
        if value and self.print_token:
            raise ConfigError("--print-token and --rotate-token exclude each other")


Given = Mapping[str, Sequence[str] | bool]
"""What the command line gave, by option name: texts, or True for a flag."""


def read_value(option: Option, given: Given, environ: Mapping[str, str]) -> Any:
    """
    Find the value of one option: the command line's, the environment's, the default.

    :return: ``None`` (flags: False; repeatable ones: ``()``) when there is none.
    :raise ConfigError: Names the option or the variable, and the rule.
    """
    if option.name in given:
        texts, where = given[option.name], f"--{option.name}"
        if isinstance(texts, bool):
            return texts
    elif environ.get(option.variable):
        text, where = environ[option.variable], option.variable
        texts = text.split(",") if option.repeatable else [text]
    else:
        texts = [] if option.default is None else [option.default]
        where = f"--{option.name}"
    try:
        values = [option.read(text.strip()) for text in texts]
    except ValueError as e:
        rule = str(e) if str(e).startswith("must") else "must be a number"
        raise ConfigError(f"{where}: {rule}") from None
    if option.repeatable:
        return tuple(dict.fromkeys(values))
    if option.value is None:
        return bool(values and values[-1])
    return values[-1] if values else None


def read_config(given: Given, environ: Mapping[str, str]) -> Config:
    """
    Read every option.

    :raise ConfigError: Names the option or the variable, and the rule.
    """
    return Config(**{o.attribute: read_value(o, given, environ) for o in OPTIONS})
