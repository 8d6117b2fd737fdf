"""Command lines made from the table in ``bridge.settings.config``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from getopt import GetoptError, gnu_getopt
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from attrs import evolve
from twisted.python import usage

from .. import __version__
from ..classes import frozen
from ..datadir.paths import DataDir
from ..protocol.nearest import nearest
from .config import BY_NAME, HOST_OPTIONS, OPTIONS, ConfigError, Option, read_value
from .configfile import NO_FILE, FileValues, config_path, read_file
from .host import HostProfile, Names, ProfileError, load_profile, profile_place


class TableOptions(usage.Options):
    """
    A command line whose options come from a table.

    Options and variables may also have the names that the host's profile adds; with
    another host those are unknown.

    :ivar given: What was given, for ``bridge.settings.config.read_value``.
    :ivar known: The table, with the names that the host's profile adds.
    :ivar file: What the user's configuration file has.
    """

    table: ClassVar[tuple[Option, ...]] = ()

    def __init__(self) -> None:
        self.given: dict[str, list[str] | bool] = {}
        self.known = self.table
        self.file: FileValues = NO_FILE
        self._flags: dict[str, str] = {}
        super().__init__()

    def __init_subclass__(cls) -> None:
        inherited = {option for base in cls.__mro__[1:] for option in _table_of(base)}
        for option in cls.table:
            name = "opt_" + option.attribute
            # One that differs from the inherited one has another help text.
            if not hasattr(cls, name) or option not in inherited:
                setattr(cls, name, _taker(option))

    def parseOptions(self, options: Any = None) -> None:
        """
        Read the command line; options may follow arguments.

        A usage error ends the process with status 2.
        """
        given = sys.argv[1:] if options is None else options
        try:
            if self.table and not {"-h", "--help", "--version"} & set(given):
                self.file = read_file(
                    config_path(), {o.name: o.value is None for o in OPTIONS}
                )
            self._add_names(given)
            super().parseOptions(self._options_first(given))
        except usage.UsageError as e:
            refuse_usage(f"{e}{self.after_refusal()}")
        except ConfigError as e:
            refuse_usage(str(e))

    def getUsage(self, width: int | None = None) -> str:  # noqa: N802
        """List the options, and the names that the host's profile adds."""
        added = (f"--{flag} means --{name}.\n" for flag, name in self._flags.items())
        return "\n".join([super().getUsage(width), *added])

    def _add_names(self, words: Sequence[str]) -> None:
        """Add the names of the host's profile; a bad profile is reported later."""
        host = next((option for option in self.table if option.name == "host"), None)
        if host is None:
            return
        named = self._host_in(words)
        try:
            chosen = read_value(
                host, {"host": named} if named else {}, os.environ, self.file
            )
            names = load_profile(chosen).names
        except (ConfigError, ProfileError):
            return
        self.known = tuple(with_names(option, names) for option in self.table)
        mine = {option.name for option in self.table}
        own = {option.rstrip("=") for option in self.longOpt}
        for flag, name in names.flags.items():
            if name in mine and flag not in own:
                self._flags[flag] = name

    def _host_in(self, words: Sequence[str]) -> list[str]:
        """Find the values of ``--host`` before it is known which options there are."""
        found: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                break
            if not word.startswith("--"):
                continue
            text, equals, value = word[2:].partition("=")
            name = self._completed(text)
            if f"{name}=" in self.longOpt and not equals:
                value = next(rest, "")
            if name == "host":
                found.append(value)
        return found

    def _completed(self, text: str) -> str:
        """Find the option that is meant by its first letters, as ``getopt`` does."""
        names = [option.rstrip("=") for option in self.longOpt]
        fitting = [name for name in names if name.startswith(text)]
        return fitting[0] if len(fitting) == 1 else text

    def _options_first(self, words: Sequence[str]) -> list[str]:
        """Return the same command line with its options before its arguments."""
        more = [
            flag + "=" * (self.option(name).value is not None)
            for flag, name in self._flags.items()
        ]
        try:
            options, arguments = gnu_getopt(words, self.shortOpt, self.longOpt + more)
        except GetoptError as e:
            known = [name.rstrip("=") for name in (*self.longOpt, *more)]
            unknown = e.msg.endswith("not recognized") and len(e.opt) > 1
            hint = nearest(e.opt, known) if unknown else ""
            # The hint names the option with its dashes, as it is typed.
            hint = hint.replace("did you mean ", "did you mean --")
            raise usage.UsageError(f"{e}{hint}") from None
        first: list[str] = []
        for typed, value in options:
            name = self._own_name(typed)
            takes = f"{name[2:]}=" in self.longOpt or f"{name[1:]}:" in self.shortOpt
            first += [name, value] if takes else [name]
        return [*first, "--", *arguments]

    def _own_name(self, typed: str) -> str:
        """Find the option that a flag stands for, and note how its user calls it."""
        flag = typed.removeprefix("--")
        name = self._flags.get(flag)
        if name is None:
            return typed
        self.known = tuple(
            evolve(option, typed=flag) if option.name == name else option
            for option in self.known
        )
        return f"--{name}"

    def after_refusal(self) -> str:
        """Return the hint that follows a usage error."""
        return f"\n{getattr(self, 'synopsis', '')}".rstrip()

    opt_h = usage.Options.opt_help

    def opt_version(self) -> NoReturn:
        """Display the version and exit."""
        sys.stdout.write(f"plugin-bridge {__version__}\n")
        raise SystemExit(0)

    def value(self, name: str, environ: Mapping[str, str] | None = None) -> Any:
        """Return one option's value; see ``bridge.settings.config.read_value``."""
        where = os.environ if environ is None else environ
        return read_value(self.option(name), self.given, where, self.file)

    def option(self, name: str) -> Option:
        """Find one option, with the names that the host's profile adds."""
        return next(option for option in self.known if option.name == name)


def _table_of(kind: type) -> tuple[Option, ...]:
    table: tuple[Option, ...] = getattr(kind, "table", ())
    return table


def with_names(option: Option, names: Names) -> Option:
    """Add the variables by which a host's users know an option."""
    if not names.variables or option.name == "host":
        return option
    flags = (flag for flag, name in names.flags.items() if name == option.name)
    words = (word.upper().replace("-", "_") for word in (option.name, *flags))
    return evolve(option, more_variables=tuple(names.variables + w for w in words))


def refuse_usage(message: str) -> NoReturn:
    """End the process with a usage error: one line, status 2."""
    sys.stderr.write(f"plugin-bridge: {message}\n")
    raise SystemExit(2)


def _taker(option: Option) -> Any:
    about = option.about
    if option.default is not None:
        about += f" (default {option.default})"
    about += f" [{option.variable}]"
    if option.value is None:

        def flag(self: TableOptions) -> None:
            self.given[option.name] = True

        flag.__doc__ = about
        return flag

    def taker(self: TableOptions, text: str) -> None:
        texts = self.given.setdefault(option.name, [])
        assert isinstance(texts, list)  # noqa: S101 (the option is no flag)
        texts.append(text)

    taker.__doc__ = about
    return taker


class DaemonOptions(TableOptions):
    """Every option of the daemon."""

    table = OPTIONS
    longdesc = (
        "Runs the daemon in the foreground until Ctrl-C. The variable in brackets also "
        "sets an option; commas separate several values. The command line overrides "
        "variables, and those override config.toml. On SIGTERM or SIGINT the daemon "
        "shuts down, and then terminates with that signal. Exit status: 0 done, 1 the "
        "daemon could not start, 2 an option is wrong."
    )

    def parseArgs(self, *arguments: str) -> None:
        """Accept no arguments."""
        if arguments:
            raise usage.UsageError("run accepts options, but no arguments")

    def after_refusal(self) -> str:
        """Keep the error on one line, as every error that prevents a start."""
        return "; see plugin-bridge run --help"


class HostOptions(TableOptions):
    """The options every command takes: which host application, and where."""

    table = HOST_OPTIONS

    def paths(self) -> Paths:
        """
        Find the profile, the data directory and the theme directory.

        :raise ConfigError: Naming the option.
        """
        return locate(
            self.value("host"), self.value("data-dir"), self.value("theme-dir")
        )

    def typed(self) -> list[str]:
        """Return the options of this table as they were given on the command line."""
        given = ((name, self.given.get(name)) for name in (o.name for o in self.table))
        return [
            f"--{name}={text}"
            for name, texts in given
            if isinstance(texts, list)
            for text in texts
        ]

    def naming(self, paths: Paths) -> list[str]:
        """Return the options by which another command finds the same paths."""
        names = ["--host", self.value("host"), "--data-dir", str(paths.data.root)]
        theme_dir = self.value("theme-dir")
        return [*names, "--theme-dir", str(theme_dir)] if theme_dir else names


@frozen
class Paths:
    """The host's profile, the data directory and the theme directory."""

    profile: HostProfile
    data: DataDir
    theme_dir: Path

    @property
    def bundle(self) -> Path:
        """Where the bundle is published."""
        folder = self.theme_dir / self.profile.theme_name
        return folder / f"{self.profile.bundle_name}.js"


def locate(host: str, data_dir: Path | None, theme_dir: Path | None) -> Paths:
    """
    Find the profile, the data directory and the theme directory.

    :raise ConfigError: Naming the option.
    """
    try:
        profile = load_profile(host)
    except ProfileError as e:
        raise ConfigError(f"--host (or BRIDGE_HOST): {e}") from None
    flags = profile.names.flags
    if flags.keys() & BY_NAME or not set(flags.values()) <= BY_NAME.keys() - {"host"}:
        where = profile_place(host, "names", "flags")
        raise ConfigError(
            f"--host (or BRIDGE_HOST): {where}: names.flags: each must be no option of "
            "the daemon, and stand for one, other than host"
        )
    data = DataDir(data_dir or profile.data_dir())
    return Paths(profile, data, theme_dir or profile.theme_dir(data.root))
