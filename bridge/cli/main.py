"""
The ``plugin-bridge`` command: runs the daemon and its tools.

Each sub-command is in a module of ``commands``, imported when it is asked for.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from .. import __version__
from ..system.processes import prepare_process
from . import COMPLETE_VARIABLE, INTERRUPTED, PROGRAM

_GENERAL: Final = ("-h", "--help", "--version")
_TAKES_NO_MORE: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)

SECTIONS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Use it": {
        "open": ("opening:open_", "show the page of the host reference, connected"),
        "setup": ("setup:setup", "install the bundler and the host's sources once"),
        "run": ("run:run", "run the daemon in the foreground, like twistd -n bridge"),
        "status": ("status:status", "show the daemon, plugins, updates and problems"),
        "doctor": ("doctor:doctor", "find problems, and show how to fix them"),
        "demo": ("opening:demo", "try everything: daemon, page, plugin, git server"),
        "remove": ("setup:remove", "remove service, bundle and data directory again"),
    },
    "Manage plugins": {
        "list": ("plugins:list_plugins", "list the installed plugins"),
        "install": ("plugins:install", "install a plugin from its repository"),
        "update": ("plugins:update", "update plugins, or list what is new"),
        "uninstall": ("plugins:uninstall", "remove a plugin and its settings"),
        "enable": ("plugins:enable", "switch a plugin on"),
        "disable": ("plugins:disable", "switch a plugin off, without removing it"),
        "cancel": ("plugins:cancel", "list or cancel what is under way"),
        "keys": ("plugins:keys", "list the authors' keys that were accepted"),
        "forget-key": ("plugins:forget_key", "stop trusting an author's key"),
        "export": ("transfer:export", "write plugin list and settings to a file"),
        "import": ("transfer:import_", "install the plugins of such a file"),
    },
    "Write plugins": {
        "new": ("authors.new:new", "create a plugin to begin with"),
        "dev": ("authors.dev:dev", "run a plugin while you work on it"),
        "check": ("authors.release:check", "check a plugin as the daemon would"),
        "keygen": ("authors.sign:keygen", "create a key to sign with, or show yours"),
        "sign": ("authors.sign:sign", "sign a plugin"),
        "release": ("authors.release:release", "check, sign, commit, tag a version"),
        "verify": ("authors.sign:verify", "verify a plugin's signature"),
    },
    "Look inside": {
        "logs": ("logs:logs", "show the log of the page and its plugins"),
        "config": ("settings:config", "print the options, and where they come from"),
        "call": ("debug:call", "call a method of a daemon with --dev"),
        "eval": ("debug:evaluate", "evaluate JavaScript in the page, with --dev"),
        "completion": ("settings:completion", "print what completes in a shell"),
    },
}
"""The commands by section: the function below ``commands``, and what it does."""

COMMANDS: Final = {
    name: held for section in SECTIONS.values() for name, held in section.items()
}


def find(name: str) -> click.Command:
    """
    Import a command.

    :param name: One of ``COMMANDS``.
    """
    module, _, function = COMMANDS[name][0].partition(":")
    imported = import_module(f".commands.{module}", __package__)
    found: click.Command = getattr(imported, function)
    return found


class Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See ``click.Group``; the refusal has the nearest command."""
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:
                return None
            from ..protocol.text import nearest

            ctx.fail(f"there is no such command{nearest(cmd_name, COMMANDS)}")
        return find(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See ``click.Group``; with a host's own command ``run`` may be left out."""
        first = args[0] if args else "-"
        if first == "help":
            args = [*args[1:], "--help"]
        elif first.startswith("-") and first not in _GENERAL and ctx.obj:
            # A shell may complete a command here, as long as no word stands before.
            args = args if ctx.resilient_parsing and not args else ["run", *args]
        return super().parse_args(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """See ``click.Group``; the commands stand in sections."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, about) for name, (_, about) in section.items()]
                )

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """See ``click.Group``; no command is imported for it."""
        if incomplete.startswith("-"):
            if ctx.obj:
                run = find("run")
                inner = run.make_context("run", [], ctx, resilient_parsing=True)
                return run.shell_complete(inner, incomplete)
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=about)
            for name, (_, about) in COMMANDS.items()
            if name.startswith(incomplete)
        ]


def group(host: str | None) -> Commands:
    """
    Make the command.

    :param host: The host whose own command it is.
    """
    also = f"Short for {PROGRAM} --host {host}. Without COMMAND, it runs the daemon."
    commands = Commands(
        context_settings={"help_option_names": ["-h", "--help"]},
        subcommand_metavar="COMMAND [OPTIONS]",
        options_metavar="",
        help=also if host else "Plugins for the page of a desktop application.",
        epilog="COMMAND --help lists the options of a command.\n\n"
        "Exit status: 0 done, 1 failed (one line explains it), 2 wrong usage, 3 no "
        "suitable daemon is running, 4 check could not run a step.",
    )
    return click.version_option(__version__, message=f"{PROGRAM} %(version)s")(commands)


def main(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """
    Run one sub-command and return the exit status.

    It is 1 when standard output takes no more; a closed pipe is not reported.

    :param program: The name by which it was started: ``plugin-bridge``, or a command
        of a host's profile, which is the same with ``--host``.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if program is None:
        program = Path(_typed_program()).stem
    prepare_process()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A line is there at once; what the encoding lacks is a question mark.
            stream.reconfigure(line_buffering=True, errors="replace")
    try:
        try:
            return _run(given, program)
        finally:
            sys.stdout.flush()
    except OSError as e:
        if e.errno not in _TAKES_NO_MORE:
            raise
        from .terminal import give_up_output

        give_up_output()
        if e.errno != errno.EPIPE:
            sys.stderr.write(f"{PROGRAM}: {e.strerror}\n")
        return 1


def _typed_program() -> str:
    """Return what was typed; a shell that completes a line asks the usual command."""
    if COMPLETE_VARIABLE not in os.environ:
        return sys.argv[0]
    words = os.environ.get("COMP_WORDS", "").split("\n")
    at = int(os.environ.get("COMP_CWORD", "0")) if len(words) > 1 else 0
    # bash has the equals sign as a word of its own, and a line for each word.
    before = [word for word in words[:at] if word != "="]
    if at:
        os.environ["COMP_WORDS"] = "\n".join([*before, *words[at:]])
        os.environ["COMP_CWORD"] = str(len(before))
    return words[0].partition(" ")[0]


def _run(given: list[str], program: str) -> int:
    # Python names a module that is run __main__.
    host = None if program in (PROGRAM, "__main__") else _host_of(program)
    commands = group(host)
    name = program if host else PROGRAM
    line, usual = (given, 0) if given or host else (["--help"], 2)
    settings: dict[str, Any] = {"standalone_mode": False, "obj": host}
    try:
        return commands.main(line, name, COMPLETE_VARIABLE, **settings) or usual
    except click.Abort as e:
        if e.__cause__ is None:  # at a question, whose line click does not end
            print(file=sys.stderr)
        return INTERRUPTED
    except (click.UsageError, ValueError, FileNotFoundError) as e:
        from ..settings.config import ConfigError
        from ..settings.options import refusing

        # Options that are wrong end the process; another error is passed on.
        first = given[0] if given else "-"
        starts = first == "run" or (host is not None and first.startswith("-"))
        with refusing(starts):
            if isinstance(e, FileNotFoundError) and e.filename is None:
                with contextlib.suppress(FileNotFoundError):
                    os.getcwd()
                    # As where nothing can be written to any temporary directory.
                    sys.stderr.write(f"{PROGRAM}: {e.strerror}\n")
                    return 1
                why = "the working directory, from which paths are relative, is gone"
                raise ConfigError(why) from None
            raise


def _host_of(program: str) -> str | None:
    """Return the host whose command a program is."""
    from ..settings.host import host_commands

    return host_commands().get(program)
