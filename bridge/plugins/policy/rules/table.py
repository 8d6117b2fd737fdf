"""The refused constructs, in the order in which several on one line are reported."""

from __future__ import annotations

from typing import Final

WORDS: Final = frozenset(
    {
        "eval",
        "Function",
        "globalThis",
        "window",
        "opener",
        "localStorage",
        "sessionStorage",
        "indexedDB",
        "XMLHttpRequest",
        "fetch",
        "WebSocket",
        "EventSource",
        "Worker",
        "SharedWorker",
        "importScripts",
        "require",
    }
)
"""Names that nothing in the file declares: any use of one is refused."""

FRAMES: Final = frozenset({"top", "parent", "frames"})
SCOPED: Final = FRAMES | {"self", "process"}
"""Such names too, except after ``typeof``, which only asks whether there is one."""

WINDOW_MEMBERS: Final = frozenset(
    {
        *("window", "self", "top", "parent", "frames", "opener", "document"),
        *("location", "history", "navigator", "postMessage", "globalThis", "eval"),
        *("Function", "fetch", "XMLHttpRequest", "WebSocket", "EventSource"),
        *("localStorage", "sessionStorage", "indexedDB", "open"),
        "__receiveMessageCallbacks",
    }
)
"""Members that only a window has; others of ``FRAMES`` are those of any object."""

MEMBERS: Final = frozenset(
    {
        "defaultView",
        "localStorage",
        "sessionStorage",
        "indexedDB",
        "sendBeacon",
        "insertAdjacentHTML",
        "srcdoc",
        "constructor",
    }
)
"""Refused as members of any object, and as names that nothing declares."""

ASSIGNED: Final = frozenset({"innerHTML", "outerHTML"})
"""Members of any object that nothing may be assigned to."""

CALLBACKS: Final = "__receiveMessageCallbacks"

CODE_TAGS: Final = frozenset({"script", "iframe", "frame", "object", "embed"})
TIMERS: Final = frozenset({"setTimeout", "setInterval"})

USES: Final = {
    "document": {"cookie": "document.cookie", "location": "document.location"},
    "location": {
        "href": "location.href",
        "assign": "location.assign",
        "replace": "location.replace",
    },
    "Reflect": {"get": "Reflect.get"},
}
"""Names of which only some members are refused: the member, and its rule."""

COMPUTED: Final = {"document": "document["}
"""Names of which no member may be computed."""

GLOBALS: Final = WORDS | SCOPED | MEMBERS | TIMERS | frozenset(USES)
"""Every standard name that matters where nothing in the file declares it."""

UNKNOWN: Final = "unknown global"
"""Any other name that nothing in the file declares and that not every page has."""

REGEX: Final = "regular expression"
"""One that no browser can compile."""

TOO_COMPLEX: Final = "too complex to check"

RULES: Final = (
    "imports a test file",
    "import outside the plugin",
    "eval",
    "Function",
    "globalThis",
    "window",
    "self",
    "top",
    "parent",
    "frames",
    "opener",
    "defaultView",
    CALLBACKS,
    "Reflect.get",
    "document.cookie",
    "localStorage",
    "sessionStorage",
    "indexedDB",
    "XMLHttpRequest",
    "fetch",
    "WebSocket",
    "EventSource",
    "sendBeacon",
    "Worker",
    "SharedWorker",
    "importScripts",
    "dynamic import",
    "script tag",
    "innerHTML assignment",
    "outerHTML assignment",
    "insertAdjacentHTML",
    "srcdoc",
    "createElement of a code-loading tag",
    "setTimeout with a string",
    "setInterval with a string",
    "constructor",
    "document[",
    "document.location",
    "location.href",
    "location.assign",
    "location.replace",
    "require",
    "process",
    UNKNOWN,
    REGEX,
    "syntax error",
    TOO_COMPLEX,
)
"""Every rule on one place of a file, in order of report."""

ORDER: Final = {rule: place for place, rule in enumerate(RULES)}


def word_rule(name: str) -> str | None:
    """The rule that any use of an undeclared name breaks, if there is one."""
    return name if name in WORDS or name in SCOPED or name in MEMBERS else None
