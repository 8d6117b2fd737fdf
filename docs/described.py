"""What the generated pages share: classes and their rules, in words."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Union, get_args, get_origin

from attrs import NOTHING, fields, frozen, resolve_types
from orjson import Fragment

from bridge.protocol.wire import camel


@frozen
class Field:
    """
    One field of a class.

    :ivar name: As JSON spells it.
    :ivar kind: Its JSON type, in words.
    :ivar required: Whether it has no default.
    :ivar meaning: What the class's docstring says of it.
    :ivar rules: Those of its annotation, in words.
    """

    name: str
    kind: str
    required: bool
    meaning: str
    rules: str

    @property
    def words(self) -> str:
        """Meaning and rules."""
        code = f"`{self.rules}`" if set("*[") & set(self.rules) else self.rules
        return _joined([self.meaning.rstrip("."), code])


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a Markdown table."""
    lines = [list(heads)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def type_words(kind: Any) -> str:
    """Say what JSON type a Python annotation stands for."""
    origin = get_origin(kind)
    if origin is Annotated:
        return type_words(get_args(kind)[0])
    if origin in (Union, types.UnionType):
        return " or ".join(type_words(k) for k in get_args(kind))
    if origin is list:
        return f"array of {type_words(get_args(kind)[0])}"
    simple = {
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        type(None): "null",
        Any: "any JSON",
        Fragment: "string",  # written already; what is large and written, is text
    }
    if kind in simple:
        return simple[kind]
    return "string" if _is_word(kind) else "object"


def _is_word(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def rule_words(kind: Any) -> str:
    """Say the rules of one annotation, and of what is in it."""
    origin = get_origin(kind)
    if origin is Annotated:
        held, *rules = get_args(kind)
        return _joined([*(rule.describe() for rule in rules), rule_words(held)])
    if origin in (Union, types.UnionType):
        return _joined(map(rule_words, get_args(kind)))
    if origin is list:
        inner = rule_words(get_args(kind)[0])
        return f"each: {inner}" if inner else ""
    if _is_word(kind):
        return f"one of {', '.join(kind)}"
    return ""


def _joined(words: Iterable[str]) -> str:
    return "; ".join(filter(None, words))


def meanings(kind: type[Any]) -> dict[str, str]:
    """Give what the docstrings of a class and its bases say of its attributes."""
    said = {}
    for one in reversed(kind.__mro__):
        text = inspect.cleandoc(one.__doc__ or "")
        found = re.findall(r"^:ivar (\w+):(.*(?:\n[ ]+.*)*)", text, re.MULTILINE)
        said.update({name: " ".join(words.split()) for name, words in found})
    return said


def fields_of(kind: type[Any]) -> Iterator[Field]:
    """Describe each field of a class."""
    resolve_types(kind, include_extras=True)
    said = meanings(kind)
    for a in fields(kind):
        yield Field(
            camel(a.name),
            type_words(a.type),
            a.default is NOTHING,
            said.get(a.name, ""),
            rule_words(a.type),
        )


def field_rows(kind: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Give a table's row for each field of a class."""
    for one in fields_of(kind):
        required = "required" if one.required else "optional"
        yield f"`{one.name}`", one.kind, required, one.words
