"""Command lines made from the table in ``bridge.config``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from getopt import GetoptError, gnu_getopt
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from attrs import frozen
from twisted.python import usage

from . import __version__
from .config import HOST_OPTIONS, OPTIONS, ConfigError, Option, read_value
from .datadir import DataDir
from .host import HostProfile, ProfileError, load_profile


class TableOptions(usage.Options):
    """
    A command line whose options come from a table.

    :ivar given: What was given, for ``bridge.config.read_value``.
    """

    table: ClassVar[tuple[Option, ...]] = ()

    def __init__(self) -> None:
        self.given: dict[str, list[str] | bool] = {}
        super().__init__()

    def __init_subclass__(cls) -> None:
        for option in cls.table:
            name = "opt_" + option.attribute
            if not hasattr(cls, name):
                setattr(cls, name, _taker(option))

    def parseOptions(self, options: Any = None) -> None:
        """
        Read the command line; options may follow arguments.

        A usage error ends the process with status 2.
        """
        given = sys.argv[1:] if options is None else options
        try:
            super().parseOptions(self._options_first(given))
        except usage.UsageError as e:
            refuse_usage(f"{e}{self.after_refusal()}")
        except ConfigError as e:
            refuse_usage(str(e))

    def _options_first(self, words: Sequence[str]) -> list[str]:
        """Give the same command line with its options before its arguments."""
        try:
            options, arguments = gnu_getopt(words, self.shortOpt, self.longOpt)
        except GetoptError as e:
            raise usage.UsageError(str(e)) from None
        first: list[str] = []
        for name, value in options:
            takes = f"{name[2:]}=" in self.longOpt or f"{name[1:]}:" in self.shortOpt
            first += [name, value] if takes else [name]
        return [*first, "--", *arguments]

    def after_refusal(self) -> str:
        """Say, after what is wrong with the command line, what is right."""
        return f"\n{getattr(self, 'synopsis', '')}".rstrip()

    opt_h = usage.Options.opt_help

    def opt_version(self) -> NoReturn:
        """Display the version and exit."""
        sys.stdout.write(f"plugin-bridge {__version__}\n")
        raise SystemExit(0)

    def value(self, name: str, environ: Mapping[str, str] | None = None) -> Any:
        """Give one option's value; see ``bridge.config.read_value``."""
        option = next(o for o in self.table if o.name == name)
        return read_value(
            option, self.given, os.environ if environ is None else environ
        )


def refuse_usage(message: str) -> NoReturn:
    """End the process as one does whose command line is wrong."""
    sys.stderr.write(f"plugin-bridge: {message}\n")
    raise SystemExit(2)


def _taker(option: Option) -> Any:
    words = option.about
    if option.default is not None:
        words += f" (default {option.default})"
    words += f" [{option.variable}]"
    if option.value is None:

        def flag(self: TableOptions) -> None:
            self.given[option.name] = True

        flag.__doc__ = words
        return flag

    def taker(self: TableOptions, text: str) -> None:
        texts = self.given.setdefault(option.name, [])
        assert isinstance(texts, list)  # noqa: S101 (the option is no flag)
        texts.append(text)

    taker.__doc__ = words
    return taker


class DaemonOptions(TableOptions):
    """Every option of the daemon."""

    table = OPTIONS
    longdesc = (
        "Runs the daemon in the foreground, until Ctrl-C. Every option can be set by "
        "the environment variable named beside it too; repeatable ones are comma "
        "separated there, and the command line wins. "
        "After SIGTERM and SIGINT it ends in order, and then by that signal. Exit "
        "status: 0 done, 1 when it cannot start, 2 when an option is wrong."
    )

    def parseArgs(self, *arguments: str) -> None:
        """Take none."""
        if arguments:
            raise usage.UsageError("it takes options, and no arguments")

    def after_refusal(self) -> str:
        """Keep to one line, as everything does that keeps the daemon from starting."""
        return "; see plugin-bridge run --help"


class HostOptions(TableOptions):
    """The options every command takes: which host application, and where."""

    table = HOST_OPTIONS

    def place(self) -> Place:
        """
        Find the profile, the data directory and the theme directory.

        :raise ConfigError: Naming the option.
        """
        return locate(
            self.value("host"), self.value("data-dir"), self.value("theme-dir")
        )

    def naming(self, place: Place) -> list[str]:
        """Give the options by which another command finds the same place."""
        names = ["--host", self.value("host"), "--data-dir", str(place.data.root)]
        theme_dir = self.value("theme-dir")
        return [*names, "--theme-dir", str(theme_dir)] if theme_dir else names


@frozen
class Place:
    """Whose page is served, and where things are kept."""

    profile: HostProfile
    data: DataDir
    theme_dir: Path

    @property
    def bundle(self) -> Path:
        """Where the bundle is published."""
        folder = self.theme_dir / self.profile.theme_name
        return folder / f"{self.profile.bundle_name}.js"


def locate(host: str, data_dir: Path | None, theme_dir: Path | None) -> Place:
    """
    Find the profile, the data directory and the theme directory.

    :raise ConfigError: Naming the option.
    """
    try:
        profile = load_profile(host)
    except ProfileError as e:
        raise ConfigError(f"--host (or BRIDGE_HOST): {e}") from None
    data = DataDir(data_dir or profile.data_dir())
    return Place(profile, data, theme_dir or profile.theme_dir(data.root))
