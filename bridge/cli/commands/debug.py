"""The commands that call a daemon with ``--dev``: ``call`` and ``eval``."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from ...protocol.errors import BridgeError
from ...protocol.limits import (
    NAME_CHARACTERS,
    REMOTE_MILLISECONDS,
    REMOTE_MOST_MILLISECONDS,
)
from ...protocol.strictjson import loads, loads_own
from ...protocol.text import visible
from ...schemas import PROTOCOL_FILE, read_schema
from ...settings.options import Paths
from ..command import command, number_option
from ..session import CALL_STATUS, session
from ..terminal import CommandError, print_json

_NAME: Final = re.compile(rf"[a-z0-9_-]{{1,{NAME_CHARACTERS}}}")
_OBJECT: Final = 'an object, such as \'{"id": "x"}\''

_compact = click.option("--compact", is_flag=True, help="Print JSON on one line.")


@cache
def _methods() -> list[tuple[str, str]]:
    """Return each method: the service, and its name."""
    names = loads_own(read_schema(PROTOCOL_FILE))["methods"]
    return [tuple(name.split("/")) for name in names]


def _complete(
    ctx: click.Context, _: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete a service, or a method of the service before."""
    chosen = ctx.params.get("names") or ()
    names = [name for service, name in _methods() if (service,) == chosen]
    found = names or dict.fromkeys(service for service, _ in _methods())
    return [CompletionItem(name) for name in found if name.startswith(begun)]


@command(
    "call",
    "Call a method of the running daemon and print the result. The daemon must run "
    "with --dev. PARAMS is a JSON object with the parameters, {} by default; - reads "
    "them from standard input. plugin-bridge-protocol(7) lists the methods.",
    'state/list \'{"ns": "host"}\'',
    status=CALL_STATUS,
    words=str,
)
@_compact
@click.argument(
    "names", nargs=-1, metavar="SERVICE/METHOD [PARAMS]", shell_complete=_complete
)
def call(place: Paths, names: tuple[str, ...], compact: bool) -> None:
    """Call a method, and print its result."""
    service, method, params = _method_and_params(names)
    given = _object_in(_given_or_read(params, "PARAMS"))
    with session(place, dev=True) as asked:
        print_json(asked.connection.call(service, method, given), compact)


def _method_and_params(words: tuple[str, ...]) -> list[str]:
    """Return service, method and parameters; the first two may be one word."""
    parts = [*(words[0].split("/") if words else ()), *words[1:], "{}"][:3]
    is_named = all(map(_NAME.fullmatch, parts[:2]))
    if not is_named or len(parts) < 3 or len(words) > 3 - ("/" in words[0]):
        raise click.UsageError("SERVICE and METHOD must be names such as state/get")
    return parts


def _object_in(text: str) -> dict[str, Any]:
    try:
        params = loads(text.encode())
    except BridgeError as e:
        raise click.UsageError(f"PARAMS: {e.message}; it must be {_OBJECT}") from None
    if type(params) is not dict:
        raise click.UsageError(f"PARAMS must be {_OBJECT}")
    return params


@command(
    "eval",
    "Evaluate CODE in the page that is paired with the running daemon, and print the "
    "result. The daemon must run with --dev. CODE is the body of an async JavaScript "
    "function; without it, or with -, the command reads standard input. In scope are "
    "host, manager, text(selector), click(selector), visible(selector), "
    "rects(selector) and sleep(ms). If the code throws, standard error has the "
    "message and the status is 1.",
    "'return text(\"h1\")'",
    status=CALL_STATUS,
    words=str,
)
@number_option(
    "--timeout-ms",
    default=REMOTE_MILLISECONDS,
    low=1,
    high=REMOTE_MOST_MILLISECONDS,
    about=f"How long to wait for the page, at most {REMOTE_MOST_MILLISECONDS}.",
)
@_compact
@click.argument("code", default="-")
def evaluate(place: Paths, code: str, timeout_ms: int, compact: bool) -> None:
    """Evaluate a snippet, and print what it returns."""
    snippet = _given_or_read(code, "CODE")
    with session(place, dev=True) as asked:
        evaluation = asked.call("remote", "eval", code=snippet, timeoutMs=timeout_ms)
    if not evaluation["ok"]:
        raise CommandError(visible(str(evaluation["error"])))
    print_json(evaluation["value"], compact)


def _given_or_read(text: str, name: str) -> str:
    """Return an argument, or what standard input has when it is ``-``."""
    try:
        content = sys.stdin.buffer.read() if text == "-" else text.encode()
        return content.decode()
    except UnicodeError:
        raise click.UsageError(f"{name} must be UTF-8") from None
