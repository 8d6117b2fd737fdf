"""Descriptions of classes, schemas and their rules, for the generated pages."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Union, get_args, get_origin

from attrs import NOTHING, fields, frozen, resolve_types
from orjson import Fragment

from bridge.protocol.rules import Schema
from bridge.protocol.wire import camel


@frozen
class Field:
    """
    One field of a class.

    :ivar name: As JSON spells it.
    :ivar kind: The name of its JSON type.
    :ivar required: Whether it has no default.
    :ivar meaning: Its description in the class's docstring.
    :ivar rules: The rules in its annotation, as text.
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
    """Return the JSON type of a Python annotation, as text."""
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
        Fragment: "string",  # written as JSON already; only large strings are
    }
    if kind in simple:
        return simple[kind]
    return "string" if _is_word(kind) else "object"


def _is_word(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def rule_words(kind: Any, named: bool = True) -> str:
    """
    Describe the rules of one annotation and of its arguments.

    :param named: Whether to list the members of enumerations.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        held, *rules = arguments
        return _joined([*(rule.describe() for rule in rules), rule_words(held, named)])
    if origin in (Union, types.UnionType):
        return _joined(rule_words(one, named) for one in arguments)
    if origin is list:
        inner = rule_words(arguments[0], named)
        return f"each: {inner}" if inner else ""
    if named and _is_word(kind):
        return f"one of {', '.join(kind)}"
    return ""


def _joined(words: Iterable[str]) -> str:
    return "; ".join(filter(None, words))


def meanings(kind: type[Any]) -> dict[str, str]:
    """Collect descriptions of attributes from a class's docstring and its bases'."""
    described = {}
    for one in reversed(kind.__mro__):
        text = inspect.cleandoc(one.__doc__ or "")
        found = re.findall(r"^:ivar (\w+):(.*(?:\n[ ]+.*)*)", text, re.MULTILINE)
        described.update({name: " ".join(words.split()) for name, words in found})
    return described


def fields_of(kind: type[Any]) -> Iterator[Field]:
    """Describe each field of a class."""
    resolve_types(kind, include_extras=True)
    described = meanings(kind)
    for a in fields(kind):
        yield Field(
            camel(a.name),
            type_words(a.type),
            a.default is NOTHING,
            described.get(a.name, ""),
            rule_words(a.type),
        )


def fields_in(schema: Schema, defs: Mapping[str, Schema]) -> Iterator[Field]:
    """
    Describe each field of a schema.

    :param defs: The definitions that the schema may refer to.
    """
    required = schema.get("required", ())
    for name, held in schema.get("properties", {}).items():
        rules = [held.get("x-rule", ""), *_values(held, defs)]
        yield Field(
            name,
            schema_words(held, defs),
            name in required,
            held.get("description", ""),
            _joined(rules),
        )


def schema_words(schema: Schema, defs: Mapping[str, Schema]) -> str:
    """Return the JSON type of a schema, as text; an object's definition by its name."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        held = defs[name]
        return f"`{name}`" if "properties" in held else schema_words(held, defs)
    if "anyOf" in schema:
        kinds = (schema_words(one, defs) for one in schema["anyOf"])
        return " or ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"array of {schema_words(schema['items'], defs)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {schema_words(schema['additionalProperties'], defs)}"
    return kind if isinstance(kind, str) else " or ".join(kind)


def _values(schema: Schema, defs: Mapping[str, Schema]) -> Iterator[str]:
    """List the values of an enumeration that a schema refers to."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    values = defs.get(name, {}).get("enum", ())
    if values:
        yield f"one of {', '.join(values)}"


def field_rows(found: Iterable[Field]) -> Iterator[tuple[str, str, str, str]]:
    """Return a table row for each field."""
    for one in found:
        required = "required" if one.required else "optional"
        yield f"`{one.name}`", one.kind, required, one.words
