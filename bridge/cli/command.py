"""What every command has: options by click, errors in one line, an exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import click

from ..protocol.errors import BridgeError, Code, Prefix, UserError
from ..protocol.text import visible
from ..settings.config import HOST_OPTIONS, Option
from ..settings.host import locate
from ..settings.options import TableCommand
from ..settings.values import is_utf8
from . import INTERRUPTED
from .terminal import CommandError, print_json

REFUSED: Final = 1
NO_DAEMON: Final = 3

STATUS: Final = "Exit status: 0 done, 1 failed, 2 wrong usage."
EXIT_STATUS: Final = (
    "Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 no daemon is running, "
    f"{INTERRUPTED} ended by Ctrl-C."
)
CALL_STATUS: Final = (
    "Exit status: 0 done, 1 refused (standard error has the code and the message), "
    "2 wrong usage, 3 no daemon with --dev is running."
)

_PROMPTED: Final = (
    "\n\nThe daemon asks you with a prompt on your desktop, as it does for the page. "
    "Ctrl-C cancels."
)

_HINTS: Final = {
    Prefix.APPROVAL_UNAVAILABLE: "run: plugin-bridge doctor --prompt",
    Prefix.NOT_INSTALLED: "to list what is installed, run: plugin-bridge list",
    Prefix.NOT_TRUSTED: "to list the accepted keys, run: plugin-bridge keys",
}
# The details of these name a place or a cause; the others are sentences of their own.
_TO_EXPLAIN: Final = (
    Prefix.APPROVAL_UNAVAILABLE,
    Prefix.BUILD_FAILED,
    Prefix.CLONE_FAILED,
    Prefix.MANIFEST_INVALID,
    Prefix.POLICY,
)
_PREFIXES: Final = {str(prefix): prefix for prefix in Prefix}


class NoDaemonError(CommandError):
    """There is no daemon to call; the message has the command that starts one."""


def prefix_of(error: BridgeError) -> Prefix | None:
    """Return what the message of a refused operation starts with."""
    return _PREFIXES.get(error.message.partition(": ")[0])


def plain(error: BridgeError, where: str = "") -> str:
    """Return a refusal as one line; ``where``, see ``Paths.typed``, is for its hint."""
    prefix = prefix_of(error)
    message = visible(error.message)
    if prefix is None:
        return message + "; try again in a moment" * (error.code is Code.RATE_LIMITED)
    detail = message.partition(": ")[2]
    if prefix in _TO_EXPLAIN:
        detail = f"{prefix.meaning}: {detail}"
    hint = _HINTS.get(prefix)
    return detail + (f"; {hint} {where}".rstrip() if hint else "")


def refusal_fields(code: str, message: str) -> dict[str, Any]:
    """Return what ``--json`` prints for a command that failed."""
    return {"error": {"code": code, "message": message}}


class Command(TableCommand):
    """
    One command: calls its function, and reports why it failed.

    The function receives the paths of the host, where the command has its options, and
    the other parameters by name; it returns the exit status, or nothing for 0.

    :ivar words: Returns the line for people of what is refused; ``None`` for ``plain``.
    :ivar prompted: Whether the daemon asks the user.
    """

    def __init__(
        self,
        name: str,
        words: Callable[[BridgeError], str] | None = None,
        prompted: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(name, **settings)
        self._words = words
        self.help = cleandoc(self.help or "") + _PROMPTED * prompted

    def invoke(self, ctx: click.Context) -> int:
        """See ``click.Command``; return the exit status."""
        self._check_texts(ctx)
        assert self.callback is not None  # noqa: S101 (each has a function)
        params = dict(ctx.params)
        where = [params.pop(one.attribute) for one in HOST_OPTIONS if self.table]
        as_json = bool(params.get("as_json"))
        place = [locate(*where)] if where else []
        typed = place[0].typed if place else ""
        try:
            return ctx.invoke(self.callback, *place, **params) or 0
        except NoDaemonError as e:
            return self._failed(as_json, "no_daemon", str(e), NO_DAEMON)
        except BridgeError as e:
            cancelled = prefix_of(e) is Prefix.CANCELLED
            status = INTERRUPTED if cancelled else REFUSED
            words = self._words(e) if self._words else plain(e, typed)
            return self._failed(as_json, str(e.code), e.message, status, words)
        except UserError as e:
            status = e.status if isinstance(e, CommandError) else REFUSED
            return self._failed(as_json, "failed", str(e), status)
        except OSError as e:
            # One of a stream has no name; main reports it.
            if e.filename is None:
                raise
            words = f"{visible(str(e.filename))}: {e.strerror}"
            return self._failed(as_json, "failed", words, REFUSED)

    def _check_texts(self, ctx: click.Context) -> None:
        # No paths: a file may have any.
        texts = (p for p in self.params if isinstance(p.type, type(click.STRING)))
        for param in texts:
            if not is_utf8(ctx.params[str(param.name)] or ""):
                raise click.BadParameter("must be UTF-8", ctx, param)

    def _failed(
        self, as_json: bool, code: str, message: str, status: int, line: str = ""
    ) -> int:
        if as_json:
            print_json(refusal_fields(code, message))
        print(f"plugin-bridge {self.name}: {line or message}", file=sys.stderr)
        return status


def command(
    name: str,
    example: str,
    *,
    status: str = STATUS,
    table: Iterable[Option] = HOST_OPTIONS,
    **more: Any,
) -> Callable[[Callable[..., Any]], Command]:
    """
    Make a command of a function, whose docstring is its help.

    :param example: Its arguments in an example.
    :param status: Which exit statuses it has.
    :param more: See ``Command``.
    """
    line = f"plugin-bridge {name} {example}".rstrip()
    end = f"\b\nExample:\n  {line}\n\n{status}"
    return click.command(name, Command, table=table, epilog=end, **more)


directory_argument = click.argument(
    "directory",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object."
)
path_option = partial(click.option, type=click.Path(path_type=Path))


def page_port_option(default: int) -> Callable[[Any], Any]:
    """Make the option ``--page-port``."""
    return click.option(
        "--page-port",
        type=click.IntRange(0, 65535),
        metavar="NUMBER",
        default=default,
        show_default=True,
        help="The page's port, 0 for a free one; a browser stays paired with the page "
        "of one port.",
    )
