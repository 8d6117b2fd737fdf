"""
Writes docs/reference from the code, and what other pages have from there.

Run ``python docs/generate.py`` and commit what it writes; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import fields, has
from described import field_rows, table, type_words
from manual import filled, pages
from services import SERVICES

from bridge.config import OPTIONS
from bridge.plugins.policy.advice import ADVICE
from bridge.protocol import frames, limits
from bridge.protocol.errors import CloseReason, Code, Prefix
from bridge.protocol.session import new_session
from bridge.rpc.hub import Event
from bridge.rpc.registry import methods_of, summary_of

DOCS = Path(__file__).parent
REFERENCE = DOCS / "reference"
NOTE = "<!-- Made by docs/generate.py from bridge/. Do not edit. -->"


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
    yield (
        "Any call can be refused: `bad_request` when a parameter is missing, unknown "
        "or breaks its rule, `rate_limited`, and `internal` for a defect. What else "
        "refuses a method is told with it; [the errors](errors.md) are one table, "
        "and so are [the limits](limits.md).\n"
    )
    for name, service in sorted(SERVICES.items()):
        yield f"## {name}\n"
        yield f"{summary_of(service)}\n"
        for m in methods_of(service):
            yield f"### {name}/{m.name}\n"
            yield f"{m.summary}\n"
            yield from _shape("Parameters", m.params)
            yield from _shape("Result", m.result)
            if m.refusals:
                yield f"Refused: {m.refusals}\n"


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


def rules() -> Iterator[str]:
    """Every rule of the source policy."""
    yield "# Rules of the source policy\n"
    yield (
        "A refused install names the first hit as `policy: FILE:LINE RULE`. "
        "`plugin-bridge check` and `plugin-bridge dev` print every hit, with its line "
        "of source and what to do. `ctx` is the context a plugin is started with.\n"
    )
    yield table(
        ("rule", "what to do"), ((f"`{rule}`", fix) for rule, fix in ADVICE.items())
    )


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "methods.md": methods,
    "errors.md": errors,
    "session.md": session,
    "events.md": events,
    "limits.md": numbers,
    "options.md": options,
    "rules.md": rules,
}


def render(page: str) -> str:
    """Write the whole text of one page."""
    return "\n".join([NOTE + "\n", *PAGES[page]()])


if __name__ == "__main__":
    for page in PAGES:
        (REFERENCE / page).write_text(render(page), encoding="utf-8")
    for path in pages(DOCS):
        path.write_text(filled(path.read_text("utf-8")), encoding="utf-8")
