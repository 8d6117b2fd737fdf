"""
Where in a JSON file a rule is broken, in words that never repeat the file's content.

The strict reader of ``bridge.protocol.wire`` decides what is refused. This reads a
small file that was refused once more, to name the line and the column.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ...classes import frozen

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_STRING_FIELD: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+"\s*:\s*("(?:[^"\\]|\\.)*+")', re.DOTALL
)
_CONSTANTS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BOM: Final = "\ufeff"

# How the standard library's messages begin. They differ between its versions only in
# trailing commas, which are looked for here.
_WORDS: Final = (
    ("Expecting ',' delimiter", "expected a comma or a closing bracket"),
    ("Expecting ':' delimiter", "expected a colon"),
    ("Expecting property name", "expected a name in double quotes"),
    ("Expecting value", "expected a value"),
    ("Extra data", "expected the end of the file"),
    ("Unterminated string", "a string without an end"),
    ("Invalid control character", "a control character or a line break in a string"),
    ("Invalid \\escape", "an unknown escape in a string"),
    ("Invalid \\u", "expected four hexadecimal digits after \\u"),
)
_AT_END: Final = "the end of the file came too early"
_TRAILING: Final = "a comma before a closing bracket"
_HINTS: Final = {
    "'": "strings are written in double quotes",
    "/": "JSON has no comments",
    "#": "JSON has no comments",
}

# Comparing names costs time, and a hostile file may have thousands.
_COMPARED_FIELDS: Final = 16
_COMPARED_CHARACTERS: Final = 40
_SIMILARITY: Final = 0.7


@frozen
class Fault:
    """
    What is wrong in a file.

    :ivar line: Counted from 1, as ``column`` is, in characters.
    :ivar rule: The rule that is broken, in words.
    """

    line: int
    column: int
    rule: str


def syntax_refusal(file: str, content: bytes, rule: str) -> str:
    """
    Format why a file is not valid JSON.

    :param file: Its name.
    :param rule: What the strict reader refused it for; used when there is no place
        to name.
    :return: ``<file>:<line>:<column> <rule>``, or ``<file>: <rule>``.
    """
    fault = find_fault(content)
    if fault is None:
        return f"{file}: {rule}"
    return f"{file}:{fault.line}:{fault.column} {fault.rule}"


def unknown_field(
    file: str, content: bytes, found: Collection[str], known: Sequence[str]
) -> str:
    """
    Format the refusal of a field that does not exist.

    :param content: The file: one JSON object, without a key twice.
    :param found: The object's fields, at least one of which is not known.
    :param known: The fields there are.
    :return: As ``syntax_refusal``; names the nearest field there is, if one is near,
        and never the one that was found.
    """
    unknown = [name for name in found if name not in known]
    pairs = ((name, _near(name, known)) for name in unknown[:_COMPARED_FIELDS])
    name, near = next((pair for pair in pairs if pair[1]), (unknown[0], ""))
    line, column = key_place(content, name) or (1, 1)
    more = f"did you mean {near}?" if near else f"the fields are {', '.join(known)}"
    return f"{file}:{line}:{column} unknown field; {more}"


def _near(name: str, known: Sequence[str]) -> str:
    if len(name) > _COMPARED_CHARACTERS:
        return ""
    plain = {_plain(each): each for each in known}
    near = difflib.get_close_matches(_plain(name), plain, 1, _SIMILARITY)
    return plain[near[0]] if near else ""


def _plain(name: str) -> str:
    return re.sub("[_ -]", "", name).lower()


def key_place(content: bytes, name: str) -> tuple[int, int] | None:
    """
    Find a field of a JSON object.

    :param content: A JSON object, without a key twice.
    :return: The line and the column of the field's name, or ``None`` without one.
    """
    text = content.decode("utf-8", "replace").removeprefix(_BOM)
    keys = (key for key in _keys(text) if key.depth == 1 and key.name == name)
    try:
        return next((_place(text, key.at) for key in keys), None)
    except (IndexError, ValueError):  # not JSON: the file may have changed meanwhile
        return None


def replace_string(content: bytes, name: str, value: str) -> bytes:
    """
    Replace the value of a field, and leave the rest as its author wrote it.

    :param content: A JSON object in UTF-8, without a key twice.
    :param name: A field whose value is a string.
    :raise ValueError: There is no such field.
    """
    text = content.decode("utf-8")
    begin = len(_BOM) if text.startswith(_BOM) else 0
    for key in _keys(text[begin:]):
        found = _STRING_FIELD.match(text, begin + key.at)
        if key.depth == 1 and key.name == name and found is not None:
            quoted = json.dumps(value, ensure_ascii=False)
            return (text[: found.start(1)] + quoted + text[found.end(1) :]).encode()
    raise ValueError("there is no such field")


def find_fault(content: bytes) -> Fault | None:
    """
    Find the first fault of a text that is not strict JSON, or has a key twice.

    :return: ``None`` when there is none, or it has no place, as too deep nesting.
    """
    try:
        text = content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as e:
        before = content[: e.start].decode("utf-8").removeprefix(_BOM)
        return Fault(*_place(before, len(before)), "expected UTF-8")
    try:
        # Numbers stay text: one may have more digits than Python converts.
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as e:
        return _syntax(text, e)
    except RecursionError:
        return None
    found = next(_lenient(text), None)
    if found is not None:
        return Fault(*_place(text, found[0]), found[1])
    if content.startswith(_BOM.encode()):
        return Fault(1, 1, "a byte order mark")
    return None


def _syntax(text: str, error: json.JSONDecodeError) -> Fault:
    at = error.pos
    rule = next((w for msg, w in _WORDS if error.msg.startswith(msg)), "not JSON")
    before = text[:at].rstrip()
    follows = text[at:].lstrip()[:1]
    if "trailing comma" in error.msg:
        rule = _TRAILING
    elif follows in ("}", "]") and before.endswith(","):
        at, rule = len(before) - 1, _TRAILING
    elif not follows:
        rule = _AT_END
    elif follows in _HINTS and rule.startswith("expected"):
        rule = _HINTS[follows]
    return Fault(*_place(text, at), rule)


def _lenient(text: str) -> Iterator[tuple[int, str]]:
    """Find what the standard library reads and strict JSON, or we, do not."""
    for found in _TOKEN.finditer(text):
        if found[0] in _CONSTANTS:
            yield found.start(), "NaN and infinite numbers are not JSON"
        elif "\\u" in found[0] and _SURROGATE.search(json.loads(found[0])):
            yield found.start(), "half of a surrogate pair in a string"
    for key in _keys(text):
        if key.again:
            yield key.at, "an object has a key twice"


@frozen
class _Key:
    """A key of an object: how deep the object is, and whether it had the key before."""

    name: str
    at: int
    depth: int
    again: bool


def _keys(text: str) -> Iterator[_Key]:
    """List the keys of a JSON text's objects, at any depth."""
    open_objects: list[set[str]] = []
    last: re.Match[str] | None = None
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in ("{", "["):
            open_objects.append(set())
        elif mark in ("}", "]"):
            open_objects.pop()
        elif mark == ":" and last is not None:
            name, seen = json.loads(last[0]), open_objects[-1]
            yield _Key(name, last.start(), len(open_objects), name in seen)
            seen.add(name)
        last = found


def _place(text: str, at: int) -> tuple[int, int]:
    line = text.count("\n", 0, at) + 1
    return line, at - (text.rfind("\n", 0, at) + 1) + 1
