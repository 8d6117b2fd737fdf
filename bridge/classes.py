"""
The decorators of classes with fields: those of attrs, at a fifth of the cost.

A start makes hundreds of classes, and uses a third of them.  attrs compiles an
initialiser for each, a comparison, a hash and a repr, and makes it twice, for its
slots.  Here it is given a class when that is first used; comparison, hash and repr are
shared; and there are no slots.  For type checkers these decorators are attrs' own; see
docs/decisions/0002.
"""

from __future__ import annotations

from collections.abc import Callable
from reprlib import recursive_repr
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import attrs

__all__ = ["define", "frozen"]

_LEFT_TO_ATTRS: Final = ("auto_exc", "order")
_building: Final = RLock()

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
    options = {"eq": True, "repr": True, **options}
    if options.pop("eq") and "__eq__" not in vars(cls):
        cls.__eq__ = _equals
        cls.__hash__ = _hash if decorator is attrs.frozen else None
    if options.pop("repr") and "__repr__" not in vars(cls):
        cls.__repr__ = _repr
    _defer(cls, decorator(init=True, slots=False, eq=False, repr=False, **options))
    return cls


def _defer(cls: Any, build: Callable[[Any], object]) -> None:
    """Have attrs build a class when it is first called, or asked for its fields."""

    def built() -> None:
        with _building:
            if vars(cls)["__init__"] is initialise:
                # Whether it is frozen depends on its bases.
                for base in cls.__mro__[1:]:
                    getattr(base, "__attrs_attrs__", None)
                build(cls)

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        built()
        cls.__init__(self, *args, **kwargs)

    cls.__init__ = initialise
    cls.__attrs_attrs__ = _Fields(built)


class _Fields:
    """In the place of the fields of a class that is not built yet."""

    def __init__(self, built: Callable[[], None]) -> None:
        self._built = built

    def __get__(self, instance: object, owner: Any) -> Any:
        self._built()
        return owner.__attrs_attrs__


def _compared(one: Any) -> tuple[Any, ...]:
    # A list needs no call for each of its items.
    return tuple([getattr(one, a.name) for a in one.__attrs_attrs__ if a.eq])


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
