"""What hypothesis makes from a JSON Schema: values it accepts, and nearly such."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen
from hypothesis import strategies as st

from bridge.protocol.rules import Schema

from ..strategies import leaves, texts, values
from .checking import python_pattern, validator

_MANY: Final = 4
_LONG: Final = 40


@frozen
class Maker:
    """
    Makes strategies from schemas.

    :ivar defs: The definitions that they may refer to.
    """

    defs: Mapping[str, Schema]

    def accepted(self, schema: Schema) -> st.SearchStrategy[Any]:
        """Values that a schema accepts."""
        return self._about(schema).filter(validator(schema, self.defs).is_valid)

    def _about(self, schema: Schema) -> st.SearchStrategy[Any]:
        """Values of the right shape, most of which the schema accepts."""
        if "$ref" in schema:
            return self._about(self.defs[schema["$ref"].removeprefix("#/$defs/")])
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        if "anyOf" in schema:
            return st.one_of([self._about(one) for one in schema["anyOf"]])
        kinds = schema.get("type", [])
        if isinstance(kinds, str):
            return self._of_type(kinds, schema)
        return st.one_of([self._of_type(kind, schema) for kind in kinds] or [values])

    def _of_type(self, kind: str, schema: Schema) -> st.SearchStrategy[Any]:
        simple: dict[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
            "null": lambda _: st.none(),
            "boolean": lambda _: st.booleans(),
            "integer": _integers,
            "number": _numbers,
            "string": _strings,
            "array": self._array,
            "object": self._object,
        }
        return simple[kind](schema)

    def _array(self, schema: Schema) -> st.SearchStrategy[Any]:
        most = min(schema.get("maxItems", _MANY), _MANY)
        element = self._about(schema.get("items", {}))
        unique = {"unique": True} if schema.get("uniqueItems") else {}
        return st.lists(
            element, min_size=schema.get("minItems", 0), max_size=most, **unique
        )

    def _object(self, schema: Schema) -> st.SearchStrategy[Any]:
        required = schema.get("required", [])
        known = {
            name: self._about(held)
            for name, held in schema.get("properties", {}).items()
        }
        fixed = st.fixed_dictionaries(
            {name: known[name] for name in required},
            optional={n: held for n, held in known.items() if n not in required},
        )
        more = schema.get("additionalProperties", True)
        if known or more is False:
            return fixed
        names = self._about(schema.get("propertyNames", {"type": "string"}))
        return st.dictionaries(
            names, values if more is True else self._about(more), max_size=_MANY
        )


def _integers(schema: Schema) -> st.SearchStrategy[Any]:
    low, high = schema.get("minimum", -(2**63)), schema.get("maximum", 2**63 - 1)
    return st.integers(int(low), int(high))


def _numbers(schema: Schema) -> st.SearchStrategy[Any]:
    low, high = schema.get("minimum", -1e9), schema.get("maximum", 1e9)
    return st.floats(low, high) | st.integers(int(low), int(high))


def _strings(schema: Schema) -> st.SearchStrategy[Any]:
    found = [schema, *schema.get("allOf", ())]
    patterns = [python_pattern(one["pattern"]) for one in found if "pattern" in one]
    if not patterns:
        least = schema.get("minLength", 0)
        most = min(schema.get("maxLength", _LONG), least + _LONG)
        return st.text(
            st.characters(exclude_categories=["Cs"]), min_size=least, max_size=most
        )
    alphabet = st.characters(exclude_categories=["Cs"])
    return st.one_of([st.from_regex(one, alphabet=alphabet) for one in patterns])


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value within a value."""
    yield path
    held = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        held = enumerate(value)  # type: ignore[assignment]
    for key, inner in held:
        yield from _places(inner, (*path, key))


@st.composite
def changed(draw: st.DrawFn, about: st.SearchStrategy[Any]) -> Any:
    """Values that were changed at one place."""
    value = copy.deepcopy(draw(about))
    path = draw(st.sampled_from(list(_places(value))))
    if not path:
        added = draw(texts), draw(leaves)
        return {**value, added[0]: added[1]} if isinstance(value, dict) else value
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    old = parent[path[-1]]
    if isinstance(parent, dict) and draw(st.booleans()):
        del parent[path[-1]]
        return value
    parent[path[-1]] = draw(_instead(old))
    return value


def _instead(old: Any) -> st.SearchStrategy[Any]:
    """Other values, some of them close to the old one."""
    near: list[st.SearchStrategy[Any]] = [values, st.none()]
    if isinstance(old, str):
        near += [
            st.sampled_from(
                [old * 300, old + "\n", old + "\0", " " + old, old.upper(), ""]
            ),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        ]
    if isinstance(old, int | float):
        near.append(st.sampled_from([old + 1, -old - 1, old * 1000, old + 0.5]))
    if isinstance(old, list):
        near.append(st.sampled_from([old + old, old * 70]))
    return st.one_of(near)
