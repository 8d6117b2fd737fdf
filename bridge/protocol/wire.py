"""
Plain JSON to values and back: the one converter, and the rules of fields.

A rule stands in a field's annotation, ``title: Annotated[str, string(200)]``: it serves
the check, the schema and the reference tables, which ``docs/generate.py`` writes.

What the converter reads is what ``strictjson.loads`` returns.  It never repeats what it
refuses: a refusal names a field of ours and a rule of ours, and an unknown key of the
user's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

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
from .text import CONTROLS, SPACES, nearest, shown

T = TypeVar("T")

_CONTROL: Final = re.compile(f"[{CONTROLS}\ud800-\udfff]")
_CONTROL_IN_LINES: Final = re.compile(f"(?![\t\n\r]){_CONTROL.pattern}")

WINDOWS_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)
"""Names of devices on Windows, in lower case; no file there can have one of them."""

Schema = dict[str, Any]
"""A JSON Schema (2020-12), or the keywords that a rule adds to one."""

PARTIAL: Final = "x-partial"
"""The keyword of a schema that accepts more than the rule does."""

LENIENT: Final = "x-lenient"
"""The keyword of a schema that accepts less than the rule does; see ``lenient``."""

NOT_BLANK: Final = f"[^{SPACES}]"
"""A pattern that finds a character that is no space, in Python and in JavaScript."""


# Compared by identity: cattrs hashes a rule some dozen times for each class.
@frozen(eq=False)
class Rule:
    """
    A check on one field's value, and its description in the reference.

    :ivar words: The rule as text.
    :ivar keywords: What the rule adds to the schema of the field's type.  Its patterns
        mean the same in Python and in JavaScript with the flag ``u``.  With ``PARTIAL``
        it accepts more than the rule does, otherwise the same.
    :ivar violates: Whether a value of the field's type breaks the rule.
    :ivar accepted: See ``lenient``.
    """

    words: str
    keywords: Schema
    violates: Callable[[Any], bool]
    accepted: type[Any] | None = None


def whole(pattern: str) -> str:
    """Return a pattern that all of a text must match."""
    return f"^(?:{pattern})$"


def string(
    most: int,
    *,
    like: str | None = None,
    least: int = 0,
    control: bool = True,
    lines: bool = False,
    blank: bool = True,
    meaning: str = "",
) -> Rule:
    """
    Return the rule of a string of ``least`` to ``most`` characters.

    :param like: Matches all of it.
    :param control: Whether control characters may be in it.
    :param lines: Whether line breaks and tabs may be in it all the same.
    :param blank: Whether it may be nothing but spaces.
    :param meaning: What ``like`` requires, where the pattern itself would not help.
    """
    words = [f"{most if least == most else _bounds(least, most)} characters"]
    patterns = []
    if like is not None:
        words.append(meaning or f"matching {like}")
        patterns.append(whole(like))
    if not control:
        but = " except tabs and line breaks" if lines else ""
        words.append(f"no control characters{but}")
        allowed = r"[\t\n\r]|" if lines else ""
        patterns.append(whole(f"(?:{allowed}[^{CONTROLS}])*"))
    if not blank:
        words.append("not blank")
        patterns.append(NOT_BLANK)
    liked = None if like is None else re.compile(like)
    # The Unicode categories Cc and Cs.
    refused = _CONTROL_IN_LINES if lines else _CONTROL

    def violates(value: str) -> bool:
        if not least <= len(value) <= most:
            return True
        if liked is not None and liked.fullmatch(value) is None:
            return True
        if not (control or value.isprintable()) and refused.search(value):
            return True
        return not (blank or value.strip())

    shortest = {"minLength": least} if least else {}
    each = [{"pattern": pattern} for pattern in patterns]
    all_of = {"allOf": each} if len(each) > 1 else dict(*each)
    return Rule(", ".join(words), {**shortest, "maxLength": most, **all_of}, violates)


def between(low: float, high: float) -> Rule:
    """Return the rule of a number from ``low`` to ``high``."""
    return Rule(
        f"{_written(low)} to {_written(high)}",
        {"minimum": low, "maximum": high},
        lambda value: not low <= value <= high,
    )


def _written(number: float) -> str:
    """Write a number with all its digits."""
    return f"{number:g}" if abs(number) < 1e6 else str(number)


def entries(most: int, *, unique: bool = False, least: int = 0) -> Rule:
    """Return the rule of ``least`` to ``most`` entries, no two equal if ``unique``."""

    def violates(value: list[Any]) -> bool:
        if not least <= len(value) <= most:
            return True
        return unique and len(set(value)) != len(value)

    fewest = {"minItems": least} if least else {}
    distinct = {"uniqueItems": True} if unique else {}
    return Rule(
        f"{_bounds(least, most)} entries{', no duplicates' if unique else ''}",
        {**fewest, "maxItems": most, **distinct},
        violates,
    )


def _bounds(least: int, most: int) -> str:
    return f"{least} to {most}" if least else f"at most {most}"


def one_of(allowed: Collection[str]) -> Rule:
    """Return the rule of a string that is one of these."""
    return Rule(
        f"one of {', '.join(allowed)}",
        {"enum": list(allowed)},
        lambda value: value not in allowed,
    )


def lenient(kind: type[Any]) -> Rule:
    """
    Return the rule of a value like the class ``kind``, which no value breaks.

    Any other is accepted as well, and ignored.  The generator of schemas adds the
    schema of ``kind``.
    """
    words = "ignored when it breaks a rule of its own"
    return Rule(words, {LENIENT: True}, lambda value: False, kind)


Read = Callable[[Any, Any], Any]
"""Returns a value as a field holds it, or raises; the type it also gets is cattrs'."""


class BrokenRuleError(ValueError):
    """A field's rule was broken; the message is the rule, not the value."""


class _WrongTypeError(BrokenRuleError):
    """The value has another type than its field."""


class _RuleDefectError(BaseException):
    """
    A rule raised something, which this holds: a bug of ours, not a refusal.

    No ``Exception``, or cattrs would take it for an error of the value.
    """


@frozen
class AnyParams:
    """Parameters among which a page may send fields that nobody reads."""


@cache
def camel(name: str) -> str:
    """Spell an attribute's name as the wire does."""
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def _exactly(words: str, kind: type, also: type | None = None) -> Read:
    """Refuse what cattrs would coerce: ``1`` is not ``"1"``, ``True`` not ``1``."""

    def structure(value: Any, _: Any) -> Any:
        if type(value) is not kind and type(value) is not also:
            raise _WrongTypeError(f"must be {words}")
        return value

    return structure


@cache
def converter_of(spelling: Callable[[str], str]) -> Converter:
    """
    Return a converter that coerces nothing; only ``AnyParams`` may have unknown fields.

    :param spelling: From an attribute's name to the field's.
    """
    c = Converter()
    c.register_structure_hook(str, _exactly("a string", str))
    c.register_structure_hook(bool, _exactly("true or false", bool))
    c.register_structure_hook(int, _exactly("an integer", int))
    c.register_structure_hook(float, _exactly("a number", float, int))

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
    # An object of JSON as it is, instead of a copy.
    as_it_is = _exactly("an object", dict)
    c.register_structure_hook_func(lambda kind: kind == dict[str, Any], as_it_is)
    c.register_structure_hook_factory(_of(list), lambda kind: _listed(c, kind))
    c.register_structure_hook_factory(_is_optional, lambda kind: _optional(c, kind))
    c.register_structure_hook_factory(_of(Annotated), lambda kind: _ruled(c, kind))
    return c


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
            raise _WrongTypeError("must be a list")
        try:
            return [inner(item, element) for item in value]
        except _WrongTypeError as e:
            raise _WrongTypeError(f"each {e}") from None

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
        for rule in rules:
            try:
                is_broken = rule.violates(value)
            except Exception as e:
                raise _RuleDefectError(e) from e
            if is_broken:
                raise BrokenRuleError(rule.words)
        return value

    return structure


def structure(
    value: Any,
    kind: type[T],
    *,
    spelling: Callable[[str], str] = camel,
    own: bool = False,
) -> T:
    """
    Read plain JSON as a class.

    :param spelling: From an attribute's name to the field's.
    :param own: Whether it is the user's own file, so that a refusal names what is
        unknown in it, and what is near.
    :raise BridgeError: ``bad_request``, naming the field and the rule.
    :raise Exception: A rule of ours failed with it, whatever the value is.
    """
    if type(value) is not dict:
        raise bad_request("must be an object")
    try:
        return converter_of(spelling).structure(value, kind)
    except _RuleDefectError as e:
        defect: Exception = e.args[0]
        raise defect from None
    except (ClassValidationError, IterableValidationError) as e:
        message = _error_message(e, spelling, own)
        forget_traceback(e)
    raise bad_request(message)


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
    # Where it reads a class or a mapping, cattrs has met something else.
    return f"{name}: must be an object"


def _step(error: Exception, spelling: Callable[[str], str]) -> str:
    notes = getattr(error, "__notes__", ())
    if not notes:
        return ""
    if isinstance(notes[0], AttributeValidationNote):
        return "." + spelling(notes[0].name)
    return "[]"  # never the key: a mapping's keys are the caller's


converter = converter_of(camel)
"""The one converter of the wire: camelCase fields, nothing coerced."""


def unstructure(value: Any, kind: Any = None) -> Any:
    """Turn a value of ours into plain JSON; absent optional fields stay absent."""
    return converter.unstructure(value, unstructure_as=kind)
