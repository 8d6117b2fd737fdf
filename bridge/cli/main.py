"""
The ``plugin-bridge`` command: runs the daemon and its tools.

Each sub-command is a module of this room, imported when it is asked for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from twisted.python import usage

from .. import __version__
from ..protocol.nearest import nearest
from ..settings.config import ConfigError
from ..settings.host import host_commands
from ..settings.options import refuse_usage
from .catalogue import COMMANDS, HOSTLESS, PROGRAM, command_module

_HELP: Final = ("-h", "--help", "help")

_TAKES_NO_MORE: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)
INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, where that is not how a command is meant to end."""


def help_text(program: str = PROGRAM, host: str | None = None) -> str:
    """
    List the commands.

    :param host: The host whose command ``program`` is.
    """
    also = [
        f"Short for {PROGRAM} --host {host}. Without COMMAND, it runs the daemon.",
        "",
    ]
    lines = [f"  {name:<11} {about}" for name, (_, about) in COMMANDS.items()]
    return "\n".join(
        [
            f"Usage: {program} COMMAND [options]",
            "",
            *(also if host else ()),
            *lines,
            "",
            f"{program} COMMAND --help lists the options of a command.",
            "Exit status: 0 done, 1 failed (one line explains it), 2 wrong usage,",
            "3 no suitable daemon is running, 4 check could not run a step.",
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """
    Run one sub-command and return the exit status.

    It is 1 when standard output takes no more; a closed pipe is not reported.

    :param program: The name by which it was started: ``plugin-bridge``, or a command
        of a host's profile, which is the same with ``--host``.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    program = Path(sys.argv[0]).stem if program is None else program
    host = None if program == PROGRAM else host_commands().get(program)
    try:
        try:
            return _run(given) if host is None else _run_for(host, given, program)
        finally:
            sys.stdout.flush()
    except OSError as e:
        if e.errno not in _TAKES_NO_MORE:
            raise
        _give_up_output()
        if e.errno != errno.EPIPE:
            sys.stderr.write(f"plugin-bridge: {e.strerror}\n")
        return 1


def _give_up_output() -> None:
    """Keep Python from writing the rest again at its exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_for(host: str, given: list[str], program: str) -> int:
    """Run a command line of the host's own command, where ``run`` may be left out."""
    if len(given) == 1 and given[0] in _HELP:
        sys.stdout.write(help_text(program, host))
        return 0
    general = (*_HELP, "--version")
    if not given or (given[0].startswith("-") and given[0] not in general):
        given = ["run", *given]
    name, *rest = given
    named = [] if name in HOSTLESS or name not in COMMANDS else [f"--host={host}"]
    return _run([name, *named, *rest])


def _run(given: list[str]) -> int:
    if given[:1] == ["help"] and given[1:]:
        given = [given[1], "--help"]
    if not given or given[0] in _HELP:
        sys.stdout.write(help_text())
        return 0 if given else 2
    if given[0] == "--version":
        sys.stdout.write(f"plugin-bridge {__version__}\n")
        return 0
    if given[0] not in COMMANDS:
        hint = nearest(given[0], COMMANDS)
        refuse_usage(f"there is no such command{hint}; see plugin-bridge --help")
    module = command_module(given[0])
    main_of: Callable[[list[str]], Any] = module.main
    try:
        status: int = main_of(given[1:])
    except (usage.UsageError, ConfigError) as e:
        refuse_usage(str(e))
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return INTERRUPTED
    return status
