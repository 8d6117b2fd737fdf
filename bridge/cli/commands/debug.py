"""The commands that call a daemon with ``--dev``: ``call`` and ``eval``."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from typing import Any, Final

import click

from ...protocol import limits
from ...protocol.errors import BridgeError
from ...protocol.strictjson import loads, loads_own
from ...protocol.text import visible
from ...schemas import PROTOCOL_FILE, read_schema
from ...settings.host import Paths
from ..command import CALL_STATUS, command
from ..session import connect
from ..terminal import CommandError, print_json

_NAME: Final = rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}"
_METHOD: Final = re.compile(f"({_NAME})/({_NAME})")
_OBJECT: Final = 'an object, such as \'{"id": "x"}\''

_compact = click.option("--compact", is_flag=True, help="Print JSON on one line.")


def _complete(_: object, __: object, begun: str) -> list[str]:
    """Complete the name of a method."""
    names = loads_own(read_schema(PROTOCOL_FILE))["methods"]
    return [name for name in names if name.startswith(begun)]


@command("call", 'state/list \'{"ns": "host"}\'', status=CALL_STATUS, words=str)
@_compact
@click.argument("method", metavar="SERVICE/METHOD", shell_complete=_complete)
@click.argument("params", default="{}")
def call(place: Paths, method: str, params: str, compact: bool) -> None:
    """
    Call a method of the running daemon and print the result.

    The daemon must run with --dev. PARAMS is a JSON object with the parameters, {} by
    default; - reads them from standard input. plugin-bridge-protocol(7) lists the
    methods.
    """
    named = _METHOD.fullmatch(method)
    if named is None:
        raise click.UsageError("SERVICE/METHOD must be names such as state/get")
    given = _object_in(_given_or_read(params, "PARAMS"))
    with closing(connect(place, dev=True)) as session:
        print_json(session.call(named[1], named[2], **given), compact)


def _object_in(text: str) -> dict[str, Any]:
    try:
        params = loads(text.encode())
    except BridgeError as e:
        raise click.UsageError(f"PARAMS: {e.message}; it must be {_OBJECT}") from None
    if type(params) is not dict:
        raise click.UsageError(f"PARAMS must be {_OBJECT}")
    return params


@command("eval", "'return text(\"h1\")'", status=CALL_STATUS, words=str)
@click.option(
    "--timeout-ms",
    type=click.IntRange(1, limits.REMOTE_MOST_MILLISECONDS),
    metavar="NUMBER",
    default=limits.REMOTE_MILLISECONDS,
    show_default=True,
    help=f"How long to wait for the page, at most {limits.REMOTE_MOST_MILLISECONDS}.",
)
@_compact
@click.argument("code", default="-")
def evaluate(place: Paths, code: str, timeout_ms: int, compact: bool) -> None:
    """
    Evaluate CODE in the page that is paired with the running daemon, and print the
    result.

    The daemon must run with --dev. CODE is the body of an async JavaScript function;
    without it, or with -, the command reads standard input. In scope are host, manager,
    text(selector), click(selector), visible(selector), rects(selector) and sleep(ms).
    If the code throws, standard error has the message and the status is 1.
    """
    snippet = _given_or_read(code, "CODE")
    with closing(connect(place, dev=True)) as session:
        evaluation = session.call("remote", "eval", code=snippet, timeoutMs=timeout_ms)
    if not evaluation["ok"]:
        raise CommandError(visible(str(evaluation["error"])))
    print_json(evaluation["value"], compact)


def _given_or_read(text: str, name: str) -> str:
    """Return an argument, or what standard input has when it is ``-``."""
    try:
        return sys.stdin.buffer.read().decode() if text == "-" else text
    except UnicodeError:
        raise click.UsageError(f"{name} must be UTF-8") from None
