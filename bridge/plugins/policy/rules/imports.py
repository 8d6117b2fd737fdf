"""Rules on what a plugin's files may import, and on mentions of exempt files."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

from ....protocol.limits import MANIFEST_BYTES
from ...tree.tree import EXEMPT, is_test_name

TEST_FILE = "imports a test file"
OUTSIDE = "import outside the plugin"
TOOLING = "references a tooling config"

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
    if len(content) > MANIFEST_BYTES:
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
