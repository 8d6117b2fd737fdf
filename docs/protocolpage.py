"""The generated parts of protocol(7), from the document of the protocol."""

import re
from collections.abc import Iterator
from typing import Any

from described import entry, field_entries, fields_in
from protocolfile import PAGE_LIMITS, document

from bridge.protocol.wire import Schema


def frames() -> Iterator[str]:
    """Every frame."""
    for kind, frame in document()["frames"].items():
        sender = "page" if frame["from"] == "client" else "daemon"
        yield f"### {kind}\n"
        yield f"{frame['description']} The {sender} sends it.\n"
        yield from schema_entries(without_type(frame["schema"]))


def schema_entries(schema: Schema) -> Iterator[str]:
    """Describe the fields of a schema."""
    return field_entries(fields_in(schema, document()["$defs"]))


def events() -> Iterator[str]:
    """Every event, and its data."""
    for name, event in document()["events"].items():
        yield f"### {name}\n"
        yield f"{event_words(event)}\n"
        yield from schema_entries(event["data"])


def objects() -> Iterator[str]:
    """The objects that others hold."""
    for name, schema in document()["$defs"].items():
        if "properties" in schema:
            yield f"### {name}\n"
            yield f"{schema['description']}\n"
            yield from schema_entries(schema)


def methods() -> Iterator[str]:
    """Every method."""
    about = document()
    for name, service in about["services"].items():
        yield f"### {name}\n"
        yield f"{service['description']}\n"
        for called, method in about["methods"].items():
            if called.startswith(f"{name}/"):
                yield f"#### {called}\n"
                yield f"{method['description']}\n"
                yield from shape("Parameters", method["params"])
                yield from shape("Result", method["result"])
                if "refusals" in method:
                    yield f"Refused: {method['refusals']}\n"
                yield (
                    f"Wait for the answer for {method['timeoutMs'] / 1000:g} seconds. "
                    f"Rate: {method['rate']}. Since version {method['since']}.\n"
                )


def shape(title: str, schema: Schema) -> Iterator[str]:
    """Describe parameters, or a result."""
    if "properties" not in schema:
        yield f"{title}: none.\n"
    else:
        yield f"{title}:\n"
        yield from schema_entries(schema)


def codes() -> Iterator[str]:
    """Every error code."""
    for code, error in document()["errors"].items():
        yield entry(f"`{code}` (HTTP {error['http']})", error["meaning"])


def prefixes() -> Iterator[str]:
    """Every plugin error."""
    for prefix, held in document()["prefixes"].items():
        yield entry(f"`{prefix}`", held["meaning"])


def closed() -> Iterator[str]:
    """Every close reason."""
    for reason, close in document()["closes"].items():
        head = f"`{reason}` ({close['code']}, {close['retry']})"
        yield entry(head, close["meaning"])


def retries() -> Iterator[str]:
    """When a page may connect again."""
    for retry, held in document()["retries"].items():
        yield entry(f"`{retry}`", held["meaning"])


def bounds() -> Iterator[str]:
    """The limits that concern every page."""
    limits = document()["limits"]
    for name in PAGE_LIMITS:
        words = re.sub("[A-Z]", lambda found: f" {found[0].lower()}", name)
        yield f"- {words}: {limits[name]:.9g}\n"


def rates() -> Iterator[str]:
    """The rates that calls count against."""
    for name, rate in document()["rates"].items():
        often = f"{rate['perSecond']:g} a second after a burst of {rate['burst']}"
        yield entry(f"`{name}`", f"{often}: {rate['meaning']}")


def without_type(schema: Schema) -> Schema:
    """Return the schema of a frame without the field that every frame has."""
    fields = {k: held for k, held in schema["properties"].items() if k != "type"}
    return {**schema, "properties": fields}


def event_words(event: dict[str, Any]) -> str:
    """Describe when an event is pushed, as a sentence."""
    words = event["description"]
    return f"{words[:1].upper()}{words[1:]}."
