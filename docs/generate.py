"""
Writes docs/reference from the code.

Run ``python docs/generate.py`` and commit what it writes; a test compares.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from attrs import NOTHING, fields, has, resolve_types
from orjson import Fragment

from bridge.config import OPTIONS
from bridge.protocol import frames, limits
from bridge.protocol.errors import CloseReason, Code, Prefix
from bridge.protocol.session import new_session
from bridge.protocol.wire import camel
from bridge.rpc.hub import Event
from bridge.rpc.registry import methods_of, summary_of
from bridge.services.catalogue import SERVICES

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Made by docs/generate.py from bridge/. Do not edit. -->"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a Markdown table."""
    lines = [list(heads)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def type_words(kind: Any) -> str:
    """Say what JSON type a Python annotation stands for."""
    origin = get_origin(kind)
    if origin is Annotated:
        return type_words(get_args(kind)[0])
    if origin in (Union, types.UnionType):
        return " or ".join(type_words(k) for k in get_args(kind))
    if origin is list:
        return f"array of {type_words(get_args(kind)[0])}"
    simple = {
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        type(None): "null",
        Any: "any JSON",
        Fragment: "string",  # written already; what is large and written, is text
    }
    if kind in simple:
        return simple[kind]
    return "object"


def rule_words(kind: Any) -> str:
    """Say the rules of one annotation."""
    if get_origin(kind) is Annotated:
        return "; ".join(rule.describe() for rule in get_args(kind)[1:])
    if get_origin(kind) is list:
        inner = rule_words(get_args(kind)[0])
        return f"each: {inner}" if inner else ""
    return ""


def meanings(kind: type[Any]) -> dict[str, str]:
    """Give what a class's docstring says of its attributes."""
    text = inspect.getdoc(kind) or ""
    found = re.findall(r"^:ivar (\w+):(.*(?:\n[ ]+.*)*)", text, re.MULTILINE)
    return {name: " ".join(said.split()) for name, said in found}


def field_rows(kind: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Give a row for each field of a class."""
    resolve_types(kind, include_extras=True)
    said = meanings(kind)
    for a in fields(kind):
        required = "required" if a.default is NOTHING else "optional"
        rules = rule_words(a.type)
        code = f"`{rules}`" if "matching" in rules else rules
        words = "; ".join(filter(None, [said.get(a.name, "").rstrip("."), code]))
        yield f"`{camel(a.name)}`", type_words(a.type), required, words


def _shape(title: str, kind: type[Any]) -> Iterator[str]:
    if not has(kind) or not fields(kind):
        yield f"{title}: `{{}}`\n" if has(kind) else f"{title}: {type_words(kind)}\n"
        return
    yield f"{title}:\n"
    yield table(("field", "type", "", "meaning and rule"), field_rows(kind))


def methods() -> Iterator[str]:
    """Every service and its methods."""
    yield "# Services and methods\n"
    yield "Called over the socket, and with `--dev` as `POST /v1/SERVICE/METHOD`.\n"
    for name, service in sorted(SERVICES.items()):
        yield f"## {name}\n"
        yield f"{summary_of(service)}\n"
        for m in methods_of(service):
            yield f"### {name}/{m.name}\n"
            yield f"{m.summary}\n"
            yield from _shape("Parameters", m.params)
            yield from _shape("Result", m.result)


def errors() -> Iterator[str]:
    """Every way to be refused."""
    yield "# Errors\n"
    yield "## Codes\n"
    yield table(
        ("code", "HTTP", "meaning"),
        ((f"`{c}`", str(c.status), c.meaning) for c in Code),
    )
    yield "## Plugin errors\n"
    yield "Code `bad_request`; the message is the prefix, a colon and a sentence.\n"
    yield table(("prefix", "meaning"), ((f"`{p}`", p.meaning) for p in Prefix))
    yield "## Closed sockets\n"
    yield "After the close frame the daemon sends nothing, and reads for a second.\n"
    yield table(
        ("reason", "code", "meaning"),
        ((f"`{r}`", str(int(r.code)), r.meaning) for r in CloseReason),
    )


def session() -> Iterator[str]:
    """Every transition of a socket's session."""
    yield "# The socket's session\n"
    automaton = new_session.__automat_automaton__  # type: ignore[attr-defined]
    moves = automaton.allTransitions()
    rows = sorted((old.name, given, new.name) for old, given, new, _ in moves)
    yield table(("state", "what happens", "next state"), rows)


def events() -> Iterator[str]:
    """Every event and frame."""
    yield "# Frames and events\n"
    yield "## Frames a page sends\n"
    for kind in (frames.Hello, frames.Request, frames.Logs):
        yield f"### `{kind.__name__.lower()}`\n"
        yield f"{summary_of(kind)}\n"
        yield table(("field", "type", "", "meaning and rule"), field_rows(kind))
    yield "## Events a page is pushed\n"
    yield table(("event", "when"), ((f"`{e}`", e.meaning) for e in Event))


def numbers() -> Iterator[str]:
    """Every limit."""
    yield "# Limits\n"
    known = vars(limits).items()
    yield table(
        ("limit", "value"),
        (
            (
                name.lower().replace("_", " "),
                f"{value:g}" if value < 1e6 else f"{value}",
            )
            for name, value in known
            if name.isupper() and name not in ("KIB", "MIB")
        ),
    )


def options() -> Iterator[str]:
    """Every start-up option."""
    yield "# Options\n"
    yield "The command line wins over the environment.\n"
    yield table(
        ("option", "variable", "default", "meaning"),
        (
            (
                f"`--{o.name}{' ' + o.value if o.value else ''}`",
                f"`{o.variable}`",
                f"`{o.default}`" if o.default else "",
                o.about,
            )
            for o in OPTIONS
        ),
    )


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "methods.md": methods,
    "errors.md": errors,
    "session.md": session,
    "events.md": events,
    "limits.md": numbers,
    "options.md": options,
}


def render(page: str) -> str:
    """Write the whole text of one page."""
    return "\n".join([NOTE + "\n", *PAGES[page]()])


if __name__ == "__main__":
    for page in PAGES:
        (REFERENCE / page).write_text(render(page), encoding="utf-8")
