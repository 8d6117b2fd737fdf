"""
The decorators of classes with fields: those of attrs, at a third of the cost.

A start makes some 400 classes.  For each, attrs compiles a comparison, a hash and a
repr, and makes it twice, for its slots.  Here these methods are shared, and a class has
no slots unless it asks for them.  For type checkers they are attrs' own; see
docs/decisions/0002.
"""

from __future__ import annotations

from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

import attrs

__all__ = ["define", "frozen"]

_LEFT_TO_ATTRS: Final = ("auto_exc", "order")

if TYPE_CHECKING:
    from attrs import define, frozen
else:

    def define(cls: Any = None, **options: Any) -> Any:
        """See ``attrs.define``."""
        return _made(attrs.define, cls, options)

    def frozen(cls: Any = None, **options: Any) -> Any:
        """See ``attrs.frozen``."""
        return _made(attrs.frozen, cls, options)


def _made(decorator: Any, cls: Any, options: dict[str, Any]) -> Any:
    if cls is None:
        return lambda cls: _made(decorator, cls, options)
    if any(options.get(name) for name in _LEFT_TO_ATTRS):
        return decorator(**options)(cls)
    options = {"slots": False, "eq": True, "repr": True, **options}
    compared = options.pop("eq") and "__eq__" not in vars(cls)
    shown = options.pop("repr") and "__repr__" not in vars(cls)
    made = decorator(eq=False, repr=False, **options)(cls)
    if compared:
        made.__eq__ = _equals
        made.__hash__ = _hash if decorator is attrs.frozen else None
    if shown:
        made.__repr__ = _repr
    return made


def _compared(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, a.name) for a in one.__attrs_attrs__ if a.eq)


def _equals(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash((self.__class__, _compared(self)))


@recursive_repr()
def _repr(self: Any) -> str:
    fields = [a.name for a in self.__attrs_attrs__ if a.repr]
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
    return f"{self.__class__.__qualname__}({shown})"
