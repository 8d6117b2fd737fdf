"""
The start-up options: one table, from which everything about them is made.

The command line, the environment, ``--help`` and the reference page all come from
``OPTIONS``; ``read_config`` turns what was given into one frozen ``Config``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field

from ..classes import frozen
from ..protocol import limits
from . import values
from .configfile import NO_FILE, ConfigError, FileValues
from .values import Address

__all__ = ["ConfigError"]

LOG_LEVELS = ("debug", "info", "warn", "error")
"""Of log lines, the daemon's and the page's; the least first."""

LOG_FORMATS = ("text", "json")


@frozen
class Option:
    """
    One option.

    :ivar value: The placeholder of its value in ``--help``; ``None`` for a flag.
    :ivar default: As written on a command line.
    :ivar read: Turns text into the value; ``ValueError`` names the rule.
    :ivar more_variables: Variables that set it when ``variable`` does not, in order.
    :ivar typed: The flag by which the user gave it; empty for its own.
    """

    name: str
    about: str
    value: str | None = None
    default: str | None = None
    read: Callable[[str], Any] = values.truth
    repeatable: bool = False
    more_variables: tuple[str, ...] = ()
    typed: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that sets it too."""
        return "BRIDGE_" + self.attribute.upper()

    @property
    def attribute(self) -> str:
        """Its name in ``Config``."""
        return self.name.replace("-", "_")

    def set_by(self, environ: Mapping[str, str]) -> str | None:
        """Find the variable that sets it; an empty one sets nothing."""
        names = (self.variable, *self.more_variables)
        return next((name for name in names if environ.get(name)), None)


OPTIONS: tuple[Option, ...] = (
    Option(
        "listen",
        "address to listen on; it must be a loopback address",
        "ADDRESS:PORT",
        "127.0.0.1:42081",
        values.loopback,
    ),
    Option(
        "host",
        "host application: vrcnext, reference, or the path of a profile",
        "NAME|PATH",
        "vrcnext",
        values.name,
    ),
    Option(
        "sink",
        "start only this notification sink: overlay, freedesktop, xsoverlay, "
        "ovrtoolkit or an installed one; repeatable; overlay and freedesktop by "
        "default",
        "NAME",
        read=values.name,
        repeatable=True,
    ),
    Option(
        "overlay-addr",
        "UDP address of the VR overlay",
        "ADDRESS:PORT",
        "127.0.0.1:42069",
        values.loopback,
    ),
    Option(
        "data-dir",
        "directory for plugins, settings, token and bundler; from the host's profile "
        "by default",
        "DIR",
        read=values.path,
    ),
    Option(
        "theme-dir",
        "directory from which the host application loads themes; the bundle is "
        "published there; from the host's profile by default",
        "DIR",
        read=values.folder,
    ),
    Option(
        "rate",
        "requests per second on each page's socket, and of all requests over HTTP",
        "NUMBER",
        f"{limits.RATE_PER_SECOND:g}",
        values.positive,
    ),
    Option(
        "burst",
        "requests at once on each page's socket, or over HTTP, before --rate applies",
        "NUMBER",
        str(limits.RATE_BURST),
        values.whole(1, 1_000_000),
    ),
    Option(
        "threads",
        "number of threads that unpack, read and check plugins",
        "NUMBER",
        "4",
        values.whole(1, 64),
    ),
    Option(
        "log",
        "lowest level that the daemon logs: debug, info, warn or error",
        "LEVEL",
        "info",
        values.one_of(*LOG_LEVELS),
    ),
    Option(
        "log-format",
        "format of the daemon's own log lines: text or json",
        "FORMAT",
        "text",
        values.one_of(*LOG_FORMATS),
    ),
    Option(
        "log-file",
        "log file of the page and plugins; logs/plugins.log in the data directory "
        "by default",
        "FILE",
        read=values.path,
    ),
    Option(
        "log-max-bytes",
        "size at which the daemon rotates the page's log file",
        "BYTES",
        str(limits.LOG_FILE_BYTES),
        values.whole(4096, 2**40),
    ),
    Option("no-log-capture", "discard what the page and plugins log"),
    Option(
        "allow-origin",
        "also accept pages of exactly this origin; repeatable",
        "ORIGIN",
        read=values.origin,
        repeatable=True,
    ),
    Option(
        "ca-file",
        "for clones, also trust the certificates in this PEM file",
        "FILE",
        read=values.file,
    ),
    Option("public-clones-only", "refuse to clone from addresses that are not public"),
    Option(
        "dev",
        "developer mode: allow calls over HTTP and remote/eval, and approve EVERY "
        "operation without asking",
    ),
    Option("print-token", "print the pairing token and exit"),
    Option(
        "rotate-token",
        "replace the pairing token, print it and exit; pages must pair again",
    ),
    Option("build-plugins", "build the bundle of page and plugins once and exit"),
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


def read_value(
    option: Option, given: Given, environ: Mapping[str, str], file: FileValues = NO_FILE
) -> Any:
    """
    Find the value of one option.

    It is the command line's, or else the environment's, the file's, or the default.

    :return: ``None`` (flags: False; repeatable ones: ``()``) when there is none.
    :raise ConfigError: Names the option, the variable or the line, and the rule.
    """
    texts = _texts_of(option, given, environ, file)
    if isinstance(texts, bool):
        return texts
    origin = origin_of(option, given, environ, file)
    try:
        values = [option.read(text.strip()) for text in texts]
    except ValueError as e:
        rule = str(e) if str(e).startswith("must") else "must be a number"
        raise ConfigError(f"{origin}: {rule}") from None
    if option.repeatable:
        return tuple(dict.fromkeys(values))
    if option.value is None:
        return bool(values and values[-1])
    return values[-1] if values else None


def _texts_of(
    option: Option, given: Given, environ: Mapping[str, str], file: FileValues
) -> Sequence[str] | bool:
    if option.name in given:
        return given[option.name]
    if variable := option.set_by(environ):
        text = environ[variable]
        return text.split(",") if option.repeatable else [text]
    if option.name in file.texts:
        texts = file.texts[option.name]
        if isinstance(texts, list) and len(texts) != 1 and not option.repeatable:
            raise ConfigError(f"{file.origin(option.name)}: must be one value")
        return texts
    return [] if option.default is None else [option.default]


def origin_of(
    option: Option, given: Given, environ: Mapping[str, str], file: FileValues = NO_FILE
) -> str:
    """Return where a value came from, as its user knows it; a default has its flag."""
    variable = None if option.name in given else option.set_by(environ)
    if variable:
        return variable
    if option.name in file.texts and option.name not in given:
        return file.origin(option.name)
    return f"--{option.typed or option.name}"


def read_config(
    given: Given,
    environ: Mapping[str, str],
    options: Sequence[Option] = OPTIONS,
    file: FileValues = NO_FILE,
) -> Config:
    """
    Read every option.

    :param options: ``OPTIONS``, with the names that the host's profile adds.
    :raise ConfigError: Names the option, the variable or the line, and the rule.
    """
    found = {o.attribute: read_value(o, given, environ, file) for o in options}
    return Config(**found)
