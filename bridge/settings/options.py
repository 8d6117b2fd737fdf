"""Command lines by click, whose options are made from the table of ``config``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from .. import __version__
from ..system.processes import SOCKET, report_failure
from . import config
from .config import Config, ConfigError, Option
from .host import Names, load_profile
from .values import is_utf8

_PROGRAM: Final = "plugin-bridge"
_NAMES: Final = f"{__name__}.names"


class Value(click.ParamType):  # type: ignore[type-arg]  # none before click 8.3
    """
    A value that a function of ``values`` reads; a refusal never repeats the text.

    :ivar words: What a shell completes; else directories or files, by the metavar.
    """

    name = "value"
    envvar_list_splitter = ","

    def __init__(self, read: Callable[[str], Any], words: Sequence[str] = ()) -> None:
        self._read = read
        self.words = words

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """See ``click.ParamType``; what is no text was read before."""
        if not isinstance(value, str) or param is None or ctx is None:
            return value
        try:
            return self._read(value.strip())
        except ValueError as e:
            raise ConfigError(f"{origin_of(ctx, param)}: {e}") from None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """See ``click.ParamType``."""
        kind = config.PATHS.get(str(param.metavar))
        words = [word for word in self.words if word.startswith(incomplete)]
        if words or kind is None:
            return [CompletionItem(word) for word in words]
        return [CompletionItem(incomplete, type=kind)]


class Truth(Value, click.types.BoolParamType):
    """What switches a flag on or off."""


def origin_of(ctx: click.Context, param: click.Parameter) -> str:
    """Return where a value came from, as its user knows it; a default has its flag."""
    source = ctx.get_parameter_source(str(param.name))
    if source is ParameterSource.ENVIRONMENT:
        return next(name for name in param.envvar or () if os.environ.get(name))
    if source is ParameterSource.DEFAULT_MAP:
        return f"{config.config_path()}: {str(param.name).replace('_', '-')}"
    return " or ".join(param.opts)


class TableOption(click.Option):
    """An option of the table; ``--help`` names the one variable that any host has."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """See ``click.Option``."""
        shown = copy(self)
        shown.envvar = list(self.envvar or ())[:1]
        return super(TableOption, shown).get_help_record(ctx)

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """See ``click.Option``; an earlier daemon's log level may be a filter."""
        found = super().resolve_envvar_value(ctx)
        log = config.BY_NAME["log"]
        if self.name != log.name or os.environ.get(log.variable) or found is None:
            return found
        # As Rust's env_logger reads it: levels of modules, and one for all others;
        # what is behind a slash chooses messages.
        words = (word.strip().lower() for word in found.partition("/")[0].split(","))
        levels = {w: w for w in log.words} | {"trace": "debug", "off": "error"}
        return next((levels[word] for word in words if word in levels), "info")


def click_option(option: Option, names: Names | None = None) -> TableOption:
    """
    Make click's option of one of the table.

    :param names: What the host's profile adds; with none, nothing.
    """
    names = names or Names()
    flags = [flag for flag, name in names.flags.items() if name == option.name]
    variables = [option.variable]
    if names.variables and option.name != "host":
        words = (word.upper().replace("-", "_") for word in (option.name, *flags))
        variables += [names.variables + word for word in words]
    kind = Truth if option.value is None else Value
    return TableOption(
        [option.attribute, *(f"--{flag}" for flag in (option.name, *flags))],
        type=kind(option.read, option.words),
        metavar=option.value,
        default=False if option.value is None else option.default,
        is_flag=option.value is None,
        multiple=option.repeatable,
        envvar=variables,
        show_envvar=True,
        show_default=option.usual or True,
        help=f"{option.about[:1].upper()}{option.about[1:]}.",
    )


class TableCommand(click.Command):
    """
    A command with options of the table.

    Options and variables may also have the names that the host's profile adds; with
    another host those are unknown.  What is in the user's configuration file applies
    where neither command line nor variable has an option.

    :ivar table: The options; empty for a command that concerns no host.
    """

    def __init__(self, name: str, *, table: Iterable[Option], **settings: Any) -> None:
        settings["context_settings"] = {"help_option_names": ["-h", "--help"]}
        super().__init__(name, **settings)
        self.table = tuple(table)
        # A command may have an argument called version.
        names = ("show_version", "--version")
        message = f"{_PROGRAM} %(version)s"
        click.version_option(__version__, *names, message=message)(self)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """See ``click.Command``."""
        *own, helps = super().get_params(ctx)
        names = ctx.meta.get(_NAMES)
        table = [click_option(option, names) for option in self.table]
        return [*own, *table, helps]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """
        See ``click.Command``.

        :raise ConfigError: An option, a variable or the file is wrong.
        """
        if self.table:
            _check_home()
            if ctx.obj is not None:
                # A host's own command is this one with --host, which may follow.
                args = [f"--host={ctx.obj}", *args]
            if not {"--help", "-h", "--version"} & set(args):
                # A shell that completes a line has no place for what is wrong.
                is_silent = ctx.resilient_parsing
                ctx.default_map = (
                    config.configured() if is_silent else config.read_file()
                )
            ctx.meta[_NAMES] = self._names(args, ctx)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as e:
            e.ctx = e.ctx or ctx
            raise

    def _names(self, args: list[str], ctx: click.Context) -> Names | None:
        """Find the names of the host's profile; a bad profile is reported later."""
        [host] = [option for option in self.table if option.name == "host"]
        probe = click.Command(None, params=[click_option(host)], add_help_option=False)
        probe.ignore_unknown_options = probe.allow_extra_args = True
        try:
            found = probe.make_context("", list(args), default_map=ctx.default_map)
            return load_profile(found.params["host"]).names
        except (click.UsageError, ConfigError):
            return None


def _check_home() -> None:
    """
    Check the home directory, below which everything is by default.

    :raise ConfigError: It is not absolute, or no text.
    """
    try:
        home = Path.home()
    except RuntimeError:
        home = Path()
    if not home.is_absolute():
        raise ConfigError("HOME: must be an absolute path")
    if not is_utf8(home):
        raise ConfigError("HOME: must be a path in UTF-8")


def daemon_command(callback: Callable[..., Any] | None = None) -> TableCommand:
    """Make the command with every option of the daemon: ``run``, ``twistd bridge``."""
    return TableCommand(
        "run",
        table=config.OPTIONS,
        callback=callback,
        help="Run the daemon in the foreground until Ctrl-C, as twistd -n bridge does. "
        "The command line overrides variables, and those override config.toml. In a "
        "variable, commas separate several values. On SIGTERM or SIGINT the daemon "
        "shuts down, and then terminates with that signal.",
        epilog="\b\nExample:\n  plugin-bridge run --host reference --log debug\n\n"
        "Exit status: 0 done, 1 the daemon could not start, 2 an option is wrong.",
    )


def config_of(ctx: click.Context) -> Config:
    """
    Return the options of a daemon.

    :param ctx: Of ``daemon_command``, parsed.
    :raise ConfigError: Two exclude each other.
    """
    names = (option.attribute for option in config.OPTIONS)
    return Config(**{name: ctx.params[name] for name in names})


def parsed(
    command: click.Command, arguments: Sequence[str], program: str
) -> click.Context:
    """Parse a daemon's command line; ``--help`` and what is wrong end the process."""
    with refusing(starts=True):
        try:
            return command.make_context(program, list(arguments))
        except click.exceptions.Exit as e:
            raise SystemExit(e.exit_code) from None


@contextmanager
def refusing(starts: bool) -> Iterator[None]:
    """
    End the process with one line and status 2 when options are wrong.

    :param starts: Whether a daemon would have started, so that its supervisor is told.
    """
    try:
        yield
    except ConfigError as e:
        why = str(e)
    except click.UsageError as e:
        path = e.ctx.command_path if e.ctx else _PROGRAM
        # click writes the choices of an argument on lines of their own.
        message = " ".join(e.format_message().split()).rstrip(".")
        why = f"{message}; see {path} --help"
    else:
        return
    report_failure(why, os.environ.get(SOCKET, "") if starts else "")
    raise SystemExit(2)
