"""What hypothesis makes from a JSON Schema: values it accepts, and nearly such."""

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen
from hypothesis import strategies as st

from bridge.protocol.wire import Schema

from ..strategies import values
from .checking import python_pattern, validator

_MANY: Final = 4
_LONG: Final = 40


@frozen
class Maker:
    """
    Makes strategies from schemas.

    :ivar defs: The definitions that they may refer to.
    :ivar whole: Whether to leave nothing out: no optional field, and no null.
    """

    defs: Mapping[str, Schema]
    whole: bool = False

    def accepted(self, schema: Schema) -> st.SearchStrategy[Any]:
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
            kinds = schema["anyOf"][:-1] if self.whole else schema["anyOf"]
            return st.one_of([self._about(one) for one in kinds])
        kinds = schema.get("type", [])
        if isinstance(kinds, str):
            return self._of_type(kinds, schema)
        kinds = kinds[:1] if self.whole else kinds
        return st.one_of([self._of_type(kind, schema) for kind in kinds] or [values])

    def _of_type(self, kind: str, schema: Schema) -> st.SearchStrategy[Any]:
        simple: dict[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
            "null": lambda _: st.none(),
            "boolean": lambda _: st.booleans(),
            "integer": _integers,
            "number": _numbers,
            "string": self._accepted_strings,
            "array": self._array,
            "object": self._object,
        }
        return simple[kind](schema)

    def _accepted_strings(self, schema: Schema) -> st.SearchStrategy[Any]:
        # One by one: of an object with many, hardly any would have only such ones.
        return _strings(schema).filter(validator(schema, self.defs).is_valid)

    def _array(self, schema: Schema) -> st.SearchStrategy[Any]:
        most = min(schema.get("maxItems", _MANY), _MANY)
        element = self._about(schema.get("items", {}))
        least = max(schema.get("minItems", 0), int(self.whole))
        unique = bool(schema.get("uniqueItems"))
        return st.lists(element, min_size=least, max_size=most, unique=unique)

    def _object(self, schema: Schema) -> st.SearchStrategy[Any]:
        known = {
            name: self._about(held)
            for name, held in schema.get("properties", {}).items()
        }
        required = list(known) if self.whole else schema.get("required", [])
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
    # Of several, the last that is about a whole text says most: of what another one
    # matches, hardly any would be accepted.
    whole = [one for one in patterns if one.startswith("^")]
    return _from_regex((whole or patterns)[-1])


@functools.cache
def _from_regex(pattern: str) -> st.SearchStrategy[str]:
    """Make what a pattern matches: that takes a second, and many have the same."""
    made = st.from_regex(pattern)
    # Deferred, or each filter on it would have it made again.
    return st.deferred(lambda: made)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value within a value."""
    yield path
    held = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        held = enumerate(value)  # type: ignore[assignment]
    for key, inner in held:
        yield from _places(inner, (*path, key))


def edges(value: Any) -> Iterator[Any]:
    """Yield a value with one part removed, or changed to the edge of a rule."""
    for path in _places(value):
        if not path:
            yield from _with_more(value)
            continue
        for new in _instead(_at(value, path)):
            changed = copy.deepcopy(value)
            _at(changed, path[:-1])[path[-1]] = new
            yield changed
        removed = copy.deepcopy(value)
        del _at(removed, path[:-1])[path[-1]]
        yield removed


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _with_more(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name in ("", "$schema", "unknown"):
            yield {**value, name: 5}


def _instead(old: Any) -> Iterator[Any]:
    """Yield values of every type, most of them close to an old one."""
    yield from (None, True, False, 0, 1.5, "a", "", [], ["a"], {}, {"a": 1})
    if isinstance(old, str):
        yield from _texts(old)
    if isinstance(old, int | float):
        for number in _NUMBERS:
            yield from (number, -number, number - 1, number + 1, number + 0.5)
    if isinstance(old, list):
        for count in _COUNTS:
            yield [f"a{number}" for number in range(count)]
            yield (old or [True]) * count
    if isinstance(old, dict):
        yield from _with_more(old)
        yield {f"a{number}": one for number in range(33) for one in old.values()}


def _texts(old: str) -> Iterator[str]:
    for more in "\n\t\0 \u200b\u2028\x7f\U0001f600\xe9":
        yield old + more
    yield from (f" {old}", f"bridge.{old}", " ", "\u3000", "\ufeff", "\n", "con", "-a")
    yield from ("A", "default", "a:0", "a:65535", "a:65536", "a.b", "x..y", "@a/b")
    yield from ("1.2.3", "1.2", "01.2.3", "^1.2.3", "1.2.3-a", "1 || 2", "^0.1.0 x")
    for count in _COUNTS:
        yield (old or "a")[:1] * count
        yield "\U0001f600" * count


_BOUNDS: Final = (1, 8, 32, 40, 64, 100, 128, 200)
_COUNTS: Final = tuple(bound + more for bound in _BOUNDS for more in (0, 1))
"""Bounds of texts and lists, and what is just over them."""

_NUMBERS: Final = (0, 1, 16, 60, 1024, 65535, 2**31, 2**53, 2**63, 3.5e38)
