"""JSON Schemas (2020-12) of classes, from their annotations and the rules in these."""

import inspect
import re
import types
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final, Union, get_args, get_origin

from attrs import NOTHING, define, field, fields, has, resolve_types
from described import joined
from orjson import Fragment

from bridge.osc.packets import Argument, Kind
from bridge.protocol.errors import Code
from bridge.protocol.wire import AnyParams, Schema, camel
from bridge.rpc import summary_of

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
OPEN: Final = "x-open"
"""The keyword of a list of values to which a minor version may add."""

RULE: Final = "x-rule"
"""The keyword that holds the rules of a field in words."""

NAMES: Final[dict[Any, str]] = {
    Argument: "OscArgument",
    Code: "ErrorCode",
    Kind: "OscKind",
}
"""The names of definitions that are not their class's."""

_PLAIN: Final[dict[Any, Schema]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
    Fragment: {"type": "string"},  # written as JSON already; only large strings are
}


def described(text: str) -> Schema:
    """Return the keyword for a description, in the form that editors show."""
    return {"description": text.replace("``", "`")} if text else {}


def merged(schema: Schema, more: Schema) -> Schema:
    """Add the keywords of one schema to another, also within ``items``."""
    made = dict(schema)
    for keyword, value in more.items():
        if keyword == "allOf" and keyword in made:
            made[keyword] = [*made[keyword], *value]
        elif keyword in made and isinstance(value, dict):
            made[keyword] = merged(made[keyword], value)
        elif keyword == "pattern" and keyword in made:
            both = [{"pattern": made.pop(keyword)}, {"pattern": value}]
            made["allOf"] = [*made.get("allOf", []), *both]
        else:
            made[keyword] = value
    return made


def rule_words(kind: Any) -> str:
    """Describe the rules of one annotation and of its arguments."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        held, *rules = arguments
        return joined([*(rule.words for rule in rules), rule_words(held)])
    if origin in (Union, types.UnionType):
        return joined(rule_words(one) for one in arguments)
    if origin is list:
        inner = rule_words(arguments[0])
        return f"each: {inner}" if inner else ""
    return ""


def meanings(kind: type[Any]) -> dict[str, str]:
    """Collect descriptions of attributes from a class's docstring and its bases'."""
    described = {}
    for one in reversed(kind.__mro__):
        text = inspect.cleandoc(one.__doc__ or "")
        found = re.findall(r"^:ivar (\w+):(.*(?:\n[ ]+.*)*)", text, re.MULTILINE)
        described.update({name: " ".join(words.split()) for name, words in found})
    return described


@define
class SchemaMaker:
    """
    Makes schemas that share their definitions.

    :ivar written: Whether they are of what the daemon writes: there an optional field
        is absent rather than null, and clients ignore fields that they don't know.
    :ivar defs: The definitions so far, by name.
    :ivar spelling: From an attribute's name to the field's.
    """

    written: bool = False
    defs: dict[str, Schema] = field(factory=dict)
    spelling: Callable[[str], str] = camel

    def of(self, kind: Any) -> Schema:
        """Make the schema of an annotation; that of a class is a reference."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._ruled(*arguments)
        if origin in (Union, types.UnionType):
            return self._any([self.of(one) for one in arguments])
        if origin is list:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is dict:
            return self._mapping(*arguments)
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        return self._named(kind)

    def object(self, kind: type[Any], *, nullable: bool = False) -> Schema:
        """
        Make the schema of a class's fields.

        :param nullable: Whether null is the same as an absent field.
        """
        resolve_types(kind, include_extras=True)
        known, about = fields(kind), meanings(kind)
        required = [self.spelling(a.name) for a in known if self._is_required(a)]
        made: Schema = {"type": "object"}
        if required:
            made["required"] = required
        if not (self.written or issubclass(kind, AnyParams)):
            made["additionalProperties"] = False
        if known:
            made["properties"] = {
                self.spelling(a.name): self._property(
                    a,
                    about.get(a.name, ""),
                    nullable=nullable and a.default is not NOTHING,
                )
                for a in known
            }
        return made

    def _is_required(self, attribute: Any) -> bool:
        if self.written:
            return attribute.default is not None
        return attribute.default is NOTHING

    def _property(
        self, attribute: Any, meaning: str, *, nullable: bool = False
    ) -> Schema:
        kind = attribute.type
        if nullable and kind is not Any:
            kind = kind | None
        if self.written and attribute.default is None:
            kind = _without_none(kind)
        words = rule_words(kind)
        rule = {RULE: words} if words else {}
        return {**self.of(kind), **described(meaning), **rule}

    def _ruled(self, kind: Any, *rules: Any) -> Schema:
        made = self.of(kind)
        for rule in rules:
            more = rule.keywords
            if rule.accepted is not None:
                more = {**self.of(rule.accepted), **more}
            made = merged(made, more)
        return made

    def _any(self, schemas: list[Schema]) -> Schema:
        if all(set(one) == {"type"} for one in schemas):
            return {"type": [one["type"] for one in schemas]}
        return {"anyOf": schemas}

    def _mapping(self, key: Any, value: Any) -> Schema:
        made: Schema = {"type": "object"}
        names, values = self.of(key), self.of(value)
        if names != _PLAIN[str]:
            made["propertyNames"] = names
        if values:
            made["additionalProperties"] = values
        return made

    def _named(self, kind: Any) -> Schema:
        """Define a class, and return the reference to it."""
        name = NAMES.get(kind, kind.__name__)
        made = self._definition(kind)
        if self.defs.setdefault(name, made) != made:
            raise ValueError(f"two classes are called {name}")
        return {"$ref": f"#/$defs/{name}"}

    def _definition(self, kind: Any) -> Schema:
        about = described(summary_of(kind))
        if issubclass(kind, StrEnum):
            return {
                "type": "string",
                "enum": [str(one) for one in kind],
                OPEN: True,
            } | about
        if has(kind):
            return {**about, **self.object(kind)}
        raise ValueError(f"no schema of {kind}")


def _without_none(kind: Any) -> Any:
    kept = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kind) not in (Union, types.UnionType) or len(kept) != 1:
        return kind
    return kept[0]
