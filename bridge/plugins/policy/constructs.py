"""The refused constructs, in the order in which several on one line are reported."""

from __future__ import annotations

from typing import Final

WORDS: Final = frozenset(
    {
        "eval",
        "Function",
        "globalThis",
        "window",
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
"""Refused as names on their own, even as names of the author's variables."""

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
"""Refused as members of any object."""

ASSIGNED: Final = frozenset({"innerHTML", "outerHTML"})
"""Members of any object that nothing may be assigned to."""

CALLBACKS: Final = "__receiveMessageCallbacks"

WINDOW_MEMBERS: Final = frozenset(
    {
        "window",
        "self",
        "top",
        "parent",
        "frames",
        "opener",
        "document",
        "location",
        "history",
        "navigator",
        "postMessage",
        "globalThis",
        "eval",
        "Function",
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "EventSource",
        "localStorage",
        "sessionStorage",
        "indexedDB",
        "open",
        CALLBACKS,
    }
)

CODE_TAGS: Final = frozenset({"script", "iframe", "frame", "object", "embed"})
TIMERS: Final = frozenset({"setTimeout", "setInterval"})

_PAIRS: Final = {
    ("document", "cookie"): "document.cookie",
    ("document", "location"): "document.location",
    (".document", "location"): "document.location",
    ("document", "["): "document[",
    ("location", "href"): "location.href",
    ("location", "assign"): "location.assign",
    ("location", "replace"): "location.replace",
    ("Reflect", "get"): "Reflect.get",
    ("opener", ""): "opener",
}
CALLED_WITH_TEXT: Final = "("
"""Stands for a call whose first argument is a string, among the members of a name."""

_FRAMES: Final = frozenset({"top", "parent", "frames"})
_ANY_MEMBER: Final = frozenset({"self", "process"})

TELLING_MEMBERS: Final = (
    WINDOW_MEMBERS
    | {member for _, member in _PAIRS}
    | {CALLED_WITH_TEXT}
    | {"argv", "binding", "cwd", "dlopen", "env", "exit", "mainModule", "versions"}
)
"""Members noted of every name, as it may turn out to stand for one of ``ROOTS``."""

ROOTS: Final = _FRAMES | _ANY_MEMBER | TIMERS | {root for root, _ in _PAIRS}
"""Global names of which only some uses are refused."""

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
    "source map reference",
    "with statement",
    "html comment",
    "ambiguous syntax",
    "type syntax in JavaScript",
    "syntax error",
    "too complex to check",
)
"""Every rule on one place of a file, in order of report."""

ORDER: Final = {rule: place for place, rule in enumerate(RULES)}


def access_rule(root: str, member: str) -> str | None:
    """
    Judge a use of a global name.

    :param root: The name; ``.document`` for any object's member ``document``.
    :param member: The member used; ``[`` for a computed one, empty for none; or
        ``CALLED_WITH_TEXT``.
    """
    if root in TIMERS and member == CALLED_WITH_TEXT:
        return f"{root} with a string"
    if root in _ANY_MEMBER and member:
        return root
    if root in _FRAMES and (member == "[" or member in WINDOW_MEMBERS):
        return root
    return _PAIRS.get((root, member))
