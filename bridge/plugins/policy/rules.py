"""
What the policy refuses: the table of constructs, in order of report, and what an author
can do about each; what files may import; and mentions of files that are not scanned.

The names that a page of any site has, ECMAScript's and the web platform's, are no part
of that.  They are a copy of a part of the npm package ``globals``; its version, its
address and its licence are next to it.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from ...classes import frozen
from ...protocol import limits
from ..tree.tree import EXEMPT, is_test_name


@frozen
class Hit:
    """
    One breach of the source policy.

    :ivar file: The file's path in the tree, with ``/`` and without control
        characters; empty when the tree as a whole breaks the rule.
    :ivar line: Counted from 1.
    :ivar rule: The name of the rule.
    :ivar why: What the bundler says of a source that does not compile, or the name that
        is unknown.
    """

    file: str
    line: int
    rule: str
    why: str = ""

    @property
    def report(self) -> str:
        """``<file>:<line> <rule>``, or the rule alone for a whole tree."""
        return f"{self.file}:{self.line} {self.rule}" if self.file else self.rule


WORDS: Final = frozenset(
    {
        *("eval", "Function", "globalThis", "window", "opener", "localStorage"),
        *("sessionStorage", "indexedDB", "XMLHttpRequest", "fetch", "WebSocket"),
        *("EventSource", "Worker", "SharedWorker", "importScripts", "require"),
    }
)
"""Names that nothing in the file declares: any use of one is refused."""

FRAMES: Final = frozenset({"top", "parent", "frames"})
SCOPED: Final = FRAMES | {"self", "process"}
"""Such names too, except after ``typeof``, which only asks whether there is one."""

HOST_CHANNELS: Final = frozenset({"external", "chrome", "webkit"})
"""
Names that are of no use in a page of any site, and in a web view lead to the
application, past every permission: ``external.sendMessage(…)``.
"""

WINDOW_MEMBERS: Final = WORDS.union(HOST_CHANNELS) | {
    *("self", "top", "parent", "frames", "document", "location", "history"),
    *("navigator", "postMessage", "open", "Reflect", "__receiveMessageCallbacks"),
    "valueOf",
}
"""Members by which ``FRAMES`` lead to a window; others are those of any object."""

MEMBERS: Final = frozenset(
    {
        *("defaultView", "localStorage", "sessionStorage", "indexedDB", "sendBeacon"),
        *("insertAdjacentHTML", "srcdoc", "constructor"),
    }
)
"""Refused as members of any object, and as names that nothing declares."""

ASSIGNED: Final = frozenset({"innerHTML", "outerHTML"})
"""Members of any object that nothing may be assigned to."""

CALLBACKS: Final = "__receiveMessageCallbacks"

CODE_TAGS: Final = frozenset({"script", "iframe", "frame", "object", "embed"})
TIMERS: Final = frozenset({"setTimeout", "setInterval"})

USES: Final = {
    "document": {
        "cookie": "document.cookie",
        "location": "document.location",
        "[": "document[",
    },
    "location": {
        "href": "location.href",
        "assign": "location.assign",
        "replace": "location.replace",
    },
    "Reflect": {"get": "Reflect.get"},
}
"""
Names of which only some members are refused: the member, ``[`` for any that is
computed, and its rule.
"""

REFUSED: Final = WORDS | SCOPED | MEMBERS
"""Names that any use of is refused, where nothing in the file declares them."""

GLOBALS: Final = REFUSED | TIMERS | frozenset(USES)
"""Every standard name that matters where nothing in the file declares it."""

TEST_FILE: Final = "imports a test file"
OUTSIDE: Final = "import outside the plugin"
TOOLING: Final = "references a tooling config"

UNKNOWN: Final = "unknown global"
"""Any other name that nothing in the file declares and that not every page has."""

REGEX: Final = "regular expression"
"""One that no browser can compile."""

SYNTAX: Final = "syntax error"
"""A source that does not compile."""

TOO_COMPLEX: Final = "too complex to check"

_CODE: Final = "write the code out as a function; text cannot be run as code"
_WINDOW: Final = "use the members of ctx; a plugin has no access to the window"
_STORAGE: Final = "keep values with ctx.settings"
_HTTP: Final = "use the context's HTTP client, such as ctx.http.fetch"
_PUSH: Final = "use the context's events or its HTTP client; plugins open no sockets"
_THREADS: Final = "do the work in main.ts or a module of it; plugins start no workers"
_STATIC: Final = "use a static import of a file of the plugin at the top of the module"
_MARKUP: Final = "use members of ctx, or document.createElement if there is a document"
_TIMER: Final = "pass a function instead of a string"
_NAVIGATE: Final = "remove it; a plugin must not read or change the page's address"
_TESTS: Final = "move what the plugin needs to a file that is not named as a test"
_LOCAL: Final = "copy the file into the plugin's tree and import it by a relative path"
_SMALLER: Final = "leave out what the plugin does not use, or split the plugin"

RULES: Final[dict[str, str]] = {
    TEST_FILE: _TESTS,
    OUTSIDE: _LOCAL,
    "eval": _CODE,
    "Function": f"{_CODE}; for a type, write the signature, such as () => void",
    **dict.fromkeys(("globalThis", "window", "self", "top", "parent"), _WINDOW),
    **dict.fromkeys(("frames", "opener", "defaultView"), _WINDOW),
    CALLBACKS: (
        "use the context's events; the host's message callbacks are not for plugins"
    ),
    "Reflect.get": "read the member by its name",
    "document.cookie": _STORAGE,
    "localStorage": _STORAGE,
    "sessionStorage": "use a variable, or keep values with ctx.settings",
    "indexedDB": _STORAGE,
    "XMLHttpRequest": _HTTP,
    "fetch": _HTTP,
    "WebSocket": _PUSH,
    "EventSource": _PUSH,
    "sendBeacon": _HTTP,
    "Worker": _THREADS,
    "SharedWorker": _THREADS,
    "importScripts": _STATIC,
    "dynamic import": _STATIC,
    "script tag": "import the code as a module of the plugin",
    "innerHTML assignment": _MARKUP,
    "outerHTML assignment": f"{_MARKUP}; replace an element with replaceWith",
    "insertAdjacentHTML": f"{_MARKUP}; insert them with append or before",
    "srcdoc": f"{_MARKUP}; a plugin has no frames of its own",
    "createElement of a code-loading tag": (
        "use an element that loads no code; import scripts as modules of the plugin"
    ),
    "setTimeout with a string": _TIMER,
    "setInterval with a string": _TIMER,
    "constructor": "name the class itself; a member named constructor reaches Function",
    "document[": "name the member, as in document.body",
    **dict.fromkeys(("document.location", "location.href"), _NAVIGATE),
    **dict.fromkeys(("location.assign", "location.replace"), _NAVIGATE),
    "require": _STATIC,
    "process": "remove it; plugins run in a page, where there is no process",
    UNKNOWN: (
        "declare or import the name; only ECMAScript's and the web platform's are free"
        "; JSX needs a comment, /* @jsx h */"
    ),
    REGEX: ("correct it: no browser can compile it, nor load a bundle that it is in"),
    SYNTAX: "correct the syntax; the file must parse as it is",
    TOO_COMPLEX: "split the file, and nest its expressions less deeply",
}
"""
Every rule on one place of a file, in order of report: what its author can do about it.

The phrases hold for every host, have no capital and no full stop.  What a context
offers differs between hosts, so a member of one is only named as an example, unless
every host has it.
"""

ADVICE: Final[dict[str, str]] = {
    # What a tree holds, and what a file looks like.
    f"more than {limits.SOURCE_FILES} source files": _SMALLER,
    f"more than {limits.SOURCE_BYTES} bytes of source": _SMALLER,
    TOOLING: (
        "rename the file or remove the reference; the configuration of tools is not "
        "scanned, so nothing may load it"
    ),
    "minified": (
        f"commit the source, not the output of a build; keep lines to "
        f"{limits.SOURCE_LINE_CHARACTERS} characters"
    ),
    "packed source": (
        "commit the source, not the output of a build; keep lines well below "
        f"{limits.SOURCE_PACKED_CHARACTERS} characters on average"
    ),
    "invisible characters": (
        r"remove the invisible characters, or write them as escapes such as \u200b"
    ),
    "escape sequences": (
        f"write the characters themselves; at most {limits.SOURCE_ESCAPES} escapes may "
        "follow each other"
    ),
    "mangled identifiers": "commit the source as you wrote it, before obfuscation",
    "opaque blob": "split the data into readable values, or fetch it at run time",
    "source map reference": (
        "remove the sourceMappingURL comment; in a string, write the word in two parts"
    ),
    **RULES,
}
"""The same for every rule."""

ORDER: Final = {rule: place for place, rule in enumerate(RULES)}


WRAPPED: Final = frozenset({"module", "exports"})
"""
Names that are free in a CommonJS source and yet its own: the bundler puts it into a
function with these parameters.
"""

RESERVED: Final = frozenset(
    {
        *("await", "break", "case", "catch", "class", "const", "continue", "debugger"),
        *("default", "delete", "do", "else", "enum", "export", "extends", "false"),
        *("finally", "for", "function", "if", "import", "in", "instanceof", "new"),
        *("null", "return", "super", "switch", "this", "throw", "true", "try"),
        *("typeof", "var", "void", "while", "with"),
    }
)
"""Words that are no name in any module."""


UNLISTED: Final = frozenset(
    {
        # What the global object inherits.
        *("hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
        *("toLocaleString", "toString", "valueOf"),
        # ECMAScript may get it, and compiled code asks for it: TypeScript writes
        # `typeof AsyncIterator === "function" ? AsyncIterator : Object` into async
        # generators.
        "AsyncIterator",
    }
)
"""Names that every page has or may get, and that the list leaves out."""

_NAMES: Final = json.loads(
    (Path(__file__).parent / "globals" / "names.json").read_text("utf-8")
)

# Older names of standard ones are left out of the list.
PAGE_NAMES: Final = frozenset({*_NAMES["page"], "WebKitCSSMatrix", "webkitURL"})
"""The names that a page has, and a worker has not."""

STANDARD_NAMES: Final = (
    UNLISTED.union(_NAMES["ecmascript"], PAGE_NAMES, _NAMES["worker"]) - HOST_CHANNELS
)
"""
The names of ECMAScript and the web platform.

Read at the start: a daemon whose files are replaced never has those of two versions.
"""


_TOOLS = frozenset(posixpath.basename(path) for path in EXEMPT)
_TOOL_STEMS = frozenset(name.rsplit(".", 1)[0] for name in _TOOLS)
# A colon before the first slash: file:, data:, https:, a drive; not node:fs.
_SCHEME = re.compile(r"(?!node:)[^/]*:")
_CHUNK = 64 * 1024
_OVERLAP = 256


def import_rule(
    importer: str, specifier: str, modules: Collection[str] = ()
) -> str | None:
    """
    Check one import specifier.

    :param importer: The importing file's path in the tree.
    :param specifier: With its string escapes decoded.
    :param modules: Names the host provides; they are no files of the plugin.
    :return: The name of the rule it breaks.
    """
    if specifier in modules:
        return None
    spellings = {specifier, unquote(specifier)}
    # The bundler drops a query or a fragment when the whole name finds no file.
    spellings |= {re.split("[?#]", spelling)[0] for spelling in spellings}
    rules = {_path_rule(importer, each.replace("\\", "/")) for each in spellings}
    return next((r for r in (TOOLING, TEST_FILE, OUTSIDE) if r in rules), None)


def _path_rule(importer: str, path: str) -> str | None:
    name = posixpath.basename(path)
    # The bundler tries other extensions than the one that is written.
    if _TOOL_STEMS.intersection((name.lower(), name.lower().rpartition(".")[0])):
        return TOOLING
    if is_test_name(name) or is_test_name(f"{name}.ts"):
        return TEST_FILE
    return OUTSIDE if _leaves(importer, path.strip()) else None


def _leaves(importer: str, path: str) -> bool:
    if path.startswith("/") or _SCHEME.match(path):
        return True
    if not path.startswith("."):
        return ".." in path.split("/")
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(importer), path))
    return whole.split("/")[0] == ".."


def names_tooling(text: str) -> bool:
    """Whether a string is the path of an exempt tooling file; prose is not."""
    tail = re.split(r"[/\\]", text[-_OVERLAP:])[-1]
    return tail.lower() in _TOOLS


def document_lines(name: str, content: bytes) -> Iterator[int]:
    """
    Find what mentions an exempt tooling file in a JSON file.

    :param name: Its base name: the ``scripts`` of a ``package.json`` may mention one.
    :return: Line numbers, from 1.
    """
    found = list(_mentions(content))
    if found and name == "package.json":
        found = found if _mentioned_outside_scripts(content) else []
    yield from found


def _mentions(content: bytes) -> Iterator[int]:
    line = 1
    for start in range(0, len(content), _CHUNK):
        chunk = content[start : start + _CHUNK]
        # Reading a little on finds a name that the chunk's end cuts in two.
        window = content[start : start + _CHUNK + _OVERLAP]
        if _mentions_tool(window.decode("utf-8", "replace")):
            for number, text in enumerate(window.split(b"\n"), line):
                if _mentions_tool(text.decode("utf-8", "replace")):
                    yield number
        line += chunk.count(b"\n")


def _mentions_tool(text: str) -> bool:
    text = unescape(text).lower()
    return any(tool in text for tool in _TOOLS)


def _mentioned_outside_scripts(content: bytes) -> bool:
    if len(content) > limits.MANIFEST_BYTES:
        return True
    try:
        document: Any = json.loads(content)
        if isinstance(document, dict):
            document.pop("scripts", None)
        text = json.dumps(document, ensure_ascii=False)
    except (ValueError, RecursionError):
        return True
    return _mentions_tool(text)


_ESCAPE = re.compile(
    r"\\(?:u\{([0-9A-Fa-f]{1,8})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([\s\S]))"
)
_LETTERS = dict(zip("0bfnrtv", "\0\b\f\n\r\t\v", strict=True))


def unescape(text: str) -> str:
    """Decode the escapes of a string, as JSON and the bundler write them."""
    return _ESCAPE.sub(_decoded, text) if "\\" in text else text


def _decoded(match: re.Match[str]) -> str:
    braces, four, two, other = match.groups()
    if other is not None:
        return _LETTERS.get(other, other)
    code = int(braces or four or two, 16)
    return chr(code) if code < 0x110000 else "\ufffd"
