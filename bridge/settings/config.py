"""
The start-up options: one table, from which everything about them is made.

The command line, the variables, ``--help``, the completions of the shells and the
reference page come from the fields of ``Config``; ``bridge.settings.options`` makes
click's options of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import evolve, field, fields

from ..classes import frozen
from ..protocol import limits
from . import values
from .values import Address

LOG_LEVELS = ("debug", "info", "warn", "error")
"""Of log lines, the daemon's and the page's; the least first."""

LOG_FORMATS = ("text", "json")

SHIPPED = ("vrcnext", "reference")
"""The hosts whose profiles ship with the daemon."""


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
    return field(default=unset, metadata={_OPTION: option})


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
