"""
Plain JSON to values and back: the one converter.

What it reads is what ``strictjson.loads`` returns.  It never repeats what it refuses: a
refusal names a field of ours and a rule of ours, and an unknown key of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from attrs import fields, has
from cattrs import Converter
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from ..classes import frozen
from .errors import bad_request, forget_traceback
from .rules import Rule
from .text import nearest, shown

T = TypeVar("T")

Read = Callable[[Any, Any], Any]
"""Returns a value as a field holds it, or raises; the type it also gets is cattrs'."""


class BrokenRuleError(ValueError):
    """A field's rule was broken; the message is the rule, not the value."""


class _RuleDefectError(Exception):
    """
    A rule raised something; the cause is a bug of ours, not a refusal.

    Without it, cattrs' errors for values and the bugs of a rule could not be
    distinguished.
    """


@frozen
class AnyParams:
    """Parameters among which a page may send fields that nobody reads."""


@cache
def camel(name: str) -> str:
    """Spell an attribute's name as the wire does."""
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def _exactly(kind: type, also: type | None = None) -> Read:
    """Refuse what cattrs would coerce: ``1`` is not ``"1"``, ``True`` not ``1``."""

    def structure(value: Any, _: Any) -> Any:
        if type(value) is not kind and type(value) is not also:
            raise TypeError
        return value

    return structure


def make_converter(spelling: Callable[[str], str] = camel) -> Converter:
    """
    Build a converter that coerces nothing; only ``AnyParams`` may have unknown fields.

    :param spelling: From an attribute's name to the field's.
    """
    c = Converter()
    for kind in (str, bool, int):
        c.register_structure_hook(kind, _exactly(kind))
    c.register_structure_hook(float, _exactly(float, int))

    def renamed(cls: type) -> dict[str, Any]:
        return {
            a.name: override(rename=spelling(a.name), omit_if_default=a.default is None)
            for a in fields(cls)
        }

    c.register_structure_hook_factory(
        has,
        lambda cls: make_dict_structure_fn(
            cls,
            c,
            _cattrs_forbid_extra_keys=not issubclass(cls, AnyParams),
            **renamed(cls),
        ),
    )
    # cattrs forgets what it was given when it meets another kind of list.
    c.register_unstructure_hook_factory(
        has, cache(lambda cls: make_dict_unstructure_fn(cls, c, **renamed(cls)))
    )
    c.register_structure_hook_func(lambda kind: kind == dict[str, Any], _object)
    c.register_structure_hook_factory(_of(list), lambda kind: _listed(c, kind))
    c.register_structure_hook_factory(_is_optional, lambda kind: _optional(c, kind))
    c.register_structure_hook_factory(_of(Annotated), lambda kind: _ruled(c, kind))
    return c


def _object(value: Any, _: Any) -> dict[str, Any]:
    """Accept an object of JSON as it is, instead of copying it."""
    if type(value) is not dict:
        raise TypeError
    return value


def _of(origin: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _is_optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)  # no class has any other union


def _listed(c: Converter, kind: Any) -> Read:
    (element,) = get_args(kind)
    inner = c.get_structure_hook(element)

    def structure(value: Any, _: Any) -> Any:
        # cattrs would accept any iterable: a string as a list of characters.
        if type(value) is not list:
            raise TypeError
        return [inner(item, element) for item in value]

    return structure


def _optional(c: Converter, kind: Any) -> Read:
    (present,) = (one for one in get_args(kind) if one is not NoneType)
    # cattrs would look it up for each value.
    hook = c.get_structure_hook(present)
    return lambda value, _: None if value is None else hook(value, present)


def _ruled(c: Converter, kind: Any) -> Read:
    bare, *found = get_args(kind)
    rules: list[Rule] = found
    inner = c.get_structure_hook(bare)

    def structure(value: Any, _: Any) -> Any:
        value = inner(value, bare)
        try:
            for rule in rules:
                if rule.violates(value):
                    refusal = rule.describe()
                    break
            else:
                return value
        except Exception as e:
            raise _RuleDefectError from e
        raise BrokenRuleError(refusal)

    return structure


def structure(
    c: Converter,
    value: Any,
    kind: type[T],
    spelling: Callable[[str], str] = camel,
    *,
    own: bool = False,
) -> T:
    """
    Read plain JSON as a class.

    :param spelling: How ``c`` spells fields; refusals name them so.
    :param own: Whether it is the user's own file, so that a refusal names what is
        unknown in it, and what is near.
    :raise BridgeError: ``bad_request``, naming the field and the rule.
    :raise Exception: A rule of ours failed with it, whatever the value is.
    """
    if type(value) is not dict:
        raise bad_request("must be an object")
    try:
        return c.structure(value, kind)
    except (ClassValidationError, IterableValidationError) as e:
        defect = _defect(e)
        message = _error_message(e, spelling, own)
        # A defect is logged whole.
        if defect is None:
            forget_traceback(e)
    if defect is not None:
        raise defect
    raise bad_request(message)


def _defect(error: BaseException) -> BaseException | None:
    """Find what a rule failed with, in an error or the errors in it."""
    if isinstance(error, _RuleDefectError):
        return error.__cause__
    inner = map(_defect, getattr(error, "exceptions", ()))
    return next((found for found in inner if found is not None), None)


def _error_message(error: Exception, spelling: Callable[[str], str], own: bool) -> str:
    path = ""
    while isinstance(error, ClassValidationError | IterableValidationError):
        error = error.exceptions[0]
        path += _step(error, spelling)
    name = path.lstrip(".")
    if isinstance(error, ForbiddenExtraKeysError):
        key = min(error.extra_fields)
        known = [spelling(a.name) for a in fields(error.cl)]
        hint = nearest(key, known) if own else ""
        name = f"{name}.{shown(key)}".lstrip(".") if own else name
        return f"{name}: unknown field{hint}".removeprefix(": ")
    if isinstance(error, KeyError):
        return f"{name}: required"
    if isinstance(error, BrokenRuleError):
        return f"{name}: {error}"
    return f"{name}: wrong type"


def _step(error: Exception, spelling: Callable[[str], str]) -> str:
    notes = getattr(error, "__notes__", ())
    if not notes:
        return ""
    if isinstance(notes[0], AttributeValidationNote):
        return "." + spelling(notes[0].name)
    return "[]"  # never the key: a mapping's keys are the caller's


converter = make_converter()
"""The one converter of the wire: camelCase fields, nothing coerced."""


def unstructure(value: Any, kind: Any = None) -> Any:
    """Turn a value of ours into plain JSON; absent optional fields stay absent."""
    return converter.unstructure(value, unstructure_as=kind)
