"""
Where in a small JSON file a rule is broken, in words that never repeat its content.

The strict reader of ``bridge.protocol.strictjson`` decides what is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ...protocol.limits import JSON_DEPTH
from ...protocol.text import nearest

# A bracket, a string, a number or a word; and the colon after it, if it is a key.
_TOKEN: Final = re.compile(
    r'("[^"\\]*(?:\\.[^"\\]*)*"|[][{}]|[^][{}",:\s]+)(\s*:\s*)?', re.DOTALL
)
_OPENING: Final = ("{", "[")
_CLOSING: Final = ("}", "]")
_WORDS: Final = ("true", "false", "null")
_COMPARED_FIELDS: Final = 16
"""Comparing names costs time, and a hostile file may have thousands."""


def syntax_refusal(file: str, content: bytes, rule: str) -> str:
    """
    Format why the strict reader has refused a file.

    :param file: Its name.
    :param content: What that reader was given.
    :param rule: What it was refused for; used when no place is found.
    :return: ``<file>:<line>:<column> <rule>``, or ``<file>: <rule>``.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as e:
        before = content[: e.start].decode("utf-8")
        return _refusal(file, before, len(before), "not UTF-8")
    try:
        # Numbers stay text: one may have more digits than Python converts.
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as e:
        why = e.msg.removesuffix(" at").partition(" (")[0]
        return _refusal(file, text, e.pos, f"not JSON: {why}")
    except RecursionError:
        pass
    found = _fault(text)
    return f"{file}: {rule}" if found is None else _refusal(file, text, *found)


def _fault(text: str) -> tuple[int, str] | None:
    """Find what only the strict reader refuses: where it is, and the rule."""
    keys: list[set[str]] = []
    for token, depth in _tokens(text):
        if token[1] in _OPENING:
            if depth == JSON_DEPTH:
                return token.start(), f"JSON nested deeper than {JSON_DEPTH} levels"
            keys.append(set())
        elif token[1] not in _CLOSING:
            if (rule := _broken_rule(token[1])) is not None:
                return token.start(), rule
            if token[2]:
                if (name := json.loads(token[1])) in keys[-1]:
                    return token.start(), "an object has this key twice"
                keys[-1].add(name)
        else:
            keys.pop()
    return None


def _broken_rule(text: str) -> str | None:
    """Return the rule that a string, a number or a word breaks."""
    if text.startswith('"'):
        if any("\ud800" <= character <= "\udfff" for character in json.loads(text)):
            return "not JSON: half of a surrogate pair"
    elif text not in _WORDS and not math.isfinite(float(text)):
        return "not JSON: not a number, or one too large"
    return None


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
    unknown = [name for name in found if name not in known][:_COMPARED_FIELDS]
    hints = ((name, nearest(name, known)) for name in unknown)
    name, hint = next((pair for pair in hints if pair[1]), (unknown[0], ""))
    line, column = key_place(content, name) or (1, 1)
    more = hint or f"; the fields are {', '.join(known)}"
    return f"{file}:{line}:{column} unknown field{more}"


def key_place(content: bytes, name: str) -> tuple[int, int] | None:
    """
    Find a field of a JSON object, and no field of an object within.

    :return: The line and the column of the field's name, or ``None`` without one.
    """
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    field = _field(text, name)
    return None if field is None else _place(text, field.start())


def replace_string(content: bytes, name: str, value: str) -> bytes:
    """
    Replace the value of a field, and leave the rest as its author wrote it.

    :param content: A JSON object in UTF-8.
    :param name: A field of it whose value is a string.
    :raise ValueError: There is no such field.
    """
    text = content.decode("utf-8")
    field = _field(text, name)
    found = field and _TOKEN.match(text, field.end())
    if not found or not found[1].startswith('"'):
        raise ValueError("there is no such field")
    quoted = json.dumps(value, ensure_ascii=False)
    return (text[: found.start()] + quoted + text[found.end(1) :]).encode()


def _tokens(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """List the tokens, and how many brackets are open around each."""
    depth = 0
    for found in _TOKEN.finditer(text):
        depth -= found[1] in _CLOSING
        yield found, depth
        depth += found[1] in _OPENING


def _field(text: str, name: str) -> re.Match[str] | None:
    for token, depth in _tokens(text):
        try:
            if depth == 1 and token[2] and json.loads(token[1]) == name:
                return token
        except ValueError:  # not JSON: the file may have changed meanwhile
            break
    return None


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _refusal(file: str, text: str, at: int, rule: str) -> str:
    line, column = _place(text, at)
    return f"{file}:{line}:{column} {rule}"
