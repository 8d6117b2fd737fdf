"""
The start-up options: one table, from which everything about them is made.

The command line, the variables, ``--help``, the completions of the shells and the
reference page come from ``OPTIONS``; ``bridge.settings.options`` makes click's options
of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import field

from ..classes import frozen
from ..protocol import limits
from . import values
from .values import Address

LOG_LEVELS = ("debug", "info", "warn", "error")
"""Of log lines, the daemon's and the page's; the least first."""

LOG_FORMATS = ("text", "json")

SHIPPED = ("vrcnext", "reference")
"""The hosts whose profiles ship with the daemon."""


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

    name: str
    about: str
    value: str | None = None
    default: str | None = None
    read: Callable[[str], Any] = values.truth
    repeatable: bool = False
    usual: str = ""
    words: tuple[str, ...] = ()

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
        words=SHIPPED,
    ),
    Option(
        "sink",
        "start only this notification sink: overlay, freedesktop, xsoverlay, "
        "or ovrtoolkit; repeatable",
        "NAME",
        read=values.name,
        repeatable=True,
        usual="overlay and freedesktop",
        words=("overlay", "freedesktop", "xsoverlay", "ovrtoolkit"),
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
        "directory for plugins, settings, token and bundler",
        "DIR",
        read=values.path,
        usual="from the host's profile",
    ),
    Option(
        "theme-dir",
        "directory from which the host application loads themes; the bundle is "
        "published there",
        "DIR",
        read=values.folder,
        usual="from the host's profile",
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
        words=LOG_LEVELS,
    ),
    Option(
        "log-format",
        "format of the daemon's own log lines: text or json",
        "FORMAT",
        "text",
        values.one_of(*LOG_FORMATS),
        words=LOG_FORMATS,
    ),
    Option(
        "log-file",
        "log file of the page and plugins",
        "FILE",
        read=values.path,
        usual="logs/plugins.log in the data directory",
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
