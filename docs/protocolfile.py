"""The protocol in one document, from the code: protocol(7) for programs."""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from attrs import evolve
from jsonschemas import DIALECT, OPEN, SchemaMaker, described

import bridge.services
from bridge.daemonlog import Line
from bridge.osc.packets import Message
from bridge.plugins.bundle.build import Report
from bridge.plugins.operations.jobs import Progress
from bridge.protocol import frames, limits
from bridge.protocol.errors import CloseReason, Code, Prefix, Retry
from bridge.protocol.wire import Schema, camel
from bridge.rpc import Event, Method, methods_of, summary_of
from bridge.services.logs import WriteParams
from bridge.services.plugins import PluginSet
from bridge.services.remote import Question
from bridge.web.site import Health
from bridge.wiring.services import LIGHT

EVENTS: Final[dict[Event, type]] = {
    Event.LOG: Line,
    Event.ERROR: frames.ErrorFields,
    Event.PROGRESS: Progress,
    Event.PLUGINS: PluginSet,
    Event.BUILD: Report,
    Event.REMOTE: Question,
    Event.OSC: Message,
}
"""The data of each event."""

DEV_ONLY: Final = frozenset({"remote"})
"""What is there only with ``--dev``: a service, and an event."""

CONTROL_ONLY: Final = "linking"
"""The module of the service that only the control socket has."""

COMMON: Final = frozenset(
    {Code.BAD_REQUEST, Code.RATE_LIMITED, Code.INTERNAL, Code.UNAVAILABLE}
)
"""The codes that any call can be refused with, the last while the daemon shuts down."""

PAGE_LIMITS: Final = (
    "helloSeconds",
    "helloFrameBytes",
    "frameBytes",
    "jsonDepth",
    "jsonValues",
    "requestIdCharacters",
    "nameCharacters",
    "logRecords",
    "logMessageCharacters",
    "logScopeCharacters",
    "unsentBytes",
    "socketsAuthenticated",
)
"""The limits that concern every page."""

_QUOTED: Final = re.compile(r"``(\w+)``")
_SERVICE: Final[Schema] = {
    "type": "object",
    "required": ["summary", "methods"],
    "additionalProperties": True,
    "properties": {
        "summary": {"type": "string"},
        "methods": {"type": "array", "items": {"type": "string"}},
    },
}
"""The description of a service; what else it holds is its own."""

_UNITS: Final = ("KIB", "MIB")


@cache
def services() -> dict[str, type]:
    """Return the class of every service that pages can reach, by its name."""
    found = {}
    for module in iter_modules(bridge.services.__path__, "bridge.services."):
        name = module.name.rpartition(".")[2]
        for kind in vars(import_module(module.name)).values():
            own = isinstance(kind, type) and kind.__module__ == module.name
            if own and any(methods_of(kind)) and name != CONTROL_ONLY:
                found[name] = kind
    return found


@cache
def document() -> dict[str, Any]:
    """Return the whole document; never change it."""
    reads = SchemaMaker()
    writes = evolve(reads, written=True)  # they share their definitions
    return {
        "$schema": DIALECT,
        "title": "The protocol of plugin-bridge",
        "protocol": frames.PROTOCOL,
        "http": {"health": writes.object(Health)},
        "frames": _frames(reads, writes),
        "services": _services(),
        "methods": _methods(reads, writes),
        "events": _events(writes),
        "errors": {str(c): {"http": c.status, "meaning": c.meaning} for c in Code},
        "prefixes": {str(p): {"meaning": p.meaning} for p in Prefix},
        "closes": _closes(),
        "retries": {str(r): {"meaning": r.meaning} for r in Retry},
        "rates": _rates(),
        "limits": _limits(),
        "$defs": dict(sorted(reads.defs.items())),
    }


def _frame(kind: str, fields: Schema) -> Schema:
    required = ["type", *fields.get("required", [])]
    properties = {"type": {"const": kind}, **fields.get("properties", {})}
    return {**fields, "required": required, "properties": properties}


def _frames(reads: SchemaMaker, writes: SchemaMaker) -> dict[str, Any]:
    """Every frame, by its ``type``, and who sends it."""
    request = reads.object(frames.Request)
    params = {"type": ["object", "null"], "default": {}}
    request["properties"]["params"] |= params
    welcome = writes.object(frames.Welcome)
    welcome["properties"]["services"]["additionalProperties"] = _SERVICE
    made = {
        "hello": ("client", summary_of(frames.Hello), reads.object(frames.Hello)),
        "request": ("client", summary_of(frames.Request), request),
        "logs": ("client", summary_of(frames.Logs), reads.object(WriteParams)),
        "welcome": ("daemon", summary_of(frames.Welcome), welcome),
        "response": ("daemon", "The answer to a request.", _response(writes)),
        "push": ("daemon", "An event.", _push()),
    }
    return {
        kind: {"from": sender, **described(about), "schema": _frame(kind, fields)}
        for kind, (sender, about, fields) in made.items()
    }


def _response(writes: SchemaMaker) -> Schema:
    return {
        "type": "object",
        "required": ["id", "ok"],
        "properties": {
            "id": {"type": "string", "description": "The request's."},
            "ok": {"type": "boolean", "description": "Whether it succeeded."},
            "result": {"description": "Only when it did; see its method."},
            "error": {
                **writes.of(frames.ErrorFields),
                "description": "Only when it did not.",
            },
        },
        "oneOf": [
            {"required": ["result"], "properties": {"ok": {"const": True}}},
            {"required": ["error"], "properties": {"ok": {"const": False}}},
        ],
    }


def _push() -> Schema:
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {
                "type": "string",
                "enum": [str(event) for event in Event],
                OPEN: True,
                "description": "Its name; ignore one that you don't know.",
            },
            "data": {"description": "See `events`."},
        },
    }


def _services() -> dict[str, Any]:
    return {
        name: {**described(summary_of(kind)), **_dev(name)}
        for name, kind in sorted(services().items())
    }


def _dev(name: str) -> dict[str, bool]:
    return {"dev": True} if name in DEV_ONLY else {}


def _methods(reads: SchemaMaker, writes: SchemaMaker) -> dict[str, Any]:
    """Every method, by service and name."""
    return {
        f"{name}/{m.name}": _method(reads, writes, name, m)
        for name, kind in sorted(services().items())
        for m in methods_of(kind)
    }


def _method(
    reads: SchemaMaker, writes: SchemaMaker, service: str, m: Method
) -> dict[str, Any]:
    named = _named(service, m)
    errors = {code for code in Code if code in named} | COMMON
    if service in DEV_ONLY:
        errors.add(Code.UNKNOWN_SERVICE)  # without --dev
    text = _refusals(m)
    refusals = {"refusals": text.replace("``", "`")} if text else {}
    return {
        **described(summary_of(m.call)),
        "since": "1.0",
        **_dev(service),
        "rate": "light" if (service, m.name) in LIGHT else "ordinary",
        "timeoutMs": round(m.seconds * 1000),
        "params": reads.object(m.params, nullable=True),
        "result": writes.object(m.result),
        "errors": sorted(errors),
        "prefixes": [str(prefix) for prefix in Prefix if prefix in named],
        **refusals,
    }


def _named(service: str, m: Method) -> set[str]:
    """Collect what a method's refusals name, and those of a method that they name."""
    others = {other.name: other for other in methods_of(services()[service])}
    found = set(_QUOTED.findall(_refusals(m)))
    for name in found & (set(others) - {m.name}):
        found = found | set(_QUOTED.findall(_refusals(others[name])))
    return found


def _refusals(m: Method) -> str:
    """Return the part of a method's docstring about ``BridgeError``, or nothing."""
    _, _, refusals = (m.call.__doc__ or "").partition(":raise BridgeError:")
    return " ".join(refusals.split())


def _events(writes: SchemaMaker) -> dict[str, Any]:
    return {
        str(event): {
            **described(event.meaning),
            "since": "1.0",
            "to": "sender" if event is Event.ERROR else "all",
            **_dev(str(event)),
            "data": writes.object(EVENTS[event]),
        }
        for event in Event
    }


def _closes() -> dict[str, Any]:
    return {
        str(reason): {
            "code": int(reason.code),
            "meaning": reason.meaning,
            "retry": str(reason.retry),
        }
        for reason in CloseReason
    }


def _rates() -> dict[str, Any]:
    def rate(per_second: float, burst: int, meaning: str) -> dict[str, Any]:
        return {"perSecond": per_second, "burst": burst, "meaning": meaning}

    return {
        "ordinary": rate(
            limits.RATE_PER_SECOND,
            limits.RATE_BURST,
            "calls of a socket; `--rate` and `--burst` change it",
        ),
        "light": rate(
            limits.LIGHT_PER_SECOND,
            limits.LIGHT_BURST,
            "calls as fast as a controller moves, counted apart",
        ),
        "logs": rate(
            limits.LOG_FRAMES_PER_SECOND,
            limits.LOG_FRAMES_BURST,
            "`logs` frames; more are dropped, and after a while close the socket",
        ),
    }


def _limits() -> dict[str, float]:
    return {
        camel(name.lower()): value
        for name, value in vars(limits).items()
        if name.isupper() and name not in _UNITS
    }
