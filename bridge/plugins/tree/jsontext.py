"""
Where in a small JSON file a rule is broken, in words that never repeat its content.

The strict reader of ``bridge.protocol.strictjson`` decides what is refused.  Fields are
looked for in files whose fields hold strings, numbers and lists of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ...protocol.nearest import nearest

_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_COLON: Final = re.compile(r"\s*:\s*")
_COMPARED_FIELDS: Final = 16
"""Comparing names costs time, and a hostile file may have thousands."""


def syntax_refusal(file: str, content: bytes, rule: str) -> str:
    """
    Format why a file is not valid JSON.

    :param file: Its name.
    :param rule: What the strict reader refused it for; used when there is no place
        to name.
    :return: ``<file>:<line>:<column> <rule>``, or ``<file>: <rule>``.
    """
    try:
        # Numbers stay text: one may have more digits than Python converts.
        json.loads(content.decode("utf-8-sig"), parse_int=str, parse_float=str)
    except json.JSONDecodeError as e:
        return f"{file}:{e.lineno}:{e.colno} not JSON: {e.msg.removesuffix(' at')}"
    except UnicodeDecodeError:
        return f"{file}: not UTF-8"
    except RecursionError:
        pass
    return f"{file}: {rule}"


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
    Find a field of a JSON object.

    :return: The line and the column of the field's name, or ``None`` without one.
    """
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    for start, _ in _keys(text, name):
        return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return None


def replace_string(content: bytes, name: str, value: str) -> bytes:
    """
    Replace the value of a field, and leave the rest as its author wrote it.

    :param content: A JSON object in UTF-8.
    :param name: A field whose value is a string.
    :raise ValueError: There is no such field.
    """
    text = content.decode("utf-8")
    for _, end in _keys(text, name):
        if (found := _STRING.match(text, end)) is not None:
            quoted = json.dumps(value, ensure_ascii=False)
            return (text[: found.start()] + quoted + text[found.end() :]).encode()
    raise ValueError("there is no such field")


def _keys(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Find where each key of this name begins, and where its value does."""
    for found in _STRING.finditer(text):
        colon = _COLON.match(text, found.end())
        try:
            if colon and json.loads(found[0]) == name:
                yield found.start(), colon.end()
        except ValueError:  # not JSON: the file may have changed meanwhile
            return
