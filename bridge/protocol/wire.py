"""
Plain JSON to values and back: the one converter, and the rules of fields.

A rule stands in a field's annotation, ``title: Annotated[str, Text(200)]``: it serves
the check, the schema and the reference tables, which ``docs/generate.py`` writes.

What the converter reads is what ``strictjson.loads`` returns.  It never repeats what it
refuses: a refusal names a field of ours and a rule of ours, and an unknown key of the
user's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from attrs import field, fields, has
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
"""The keyword of a schema that accepts less than the rule does; see ``Lenient``."""

NOT_BLANK: Final = f"[^{SPACES}]"
"""A pattern that finds a character that is no space, in Python and in JavaScript."""


class Rule(Protocol):
    """A check on one field's value, and its description in the reference."""

    def violates(self, value: Any) -> bool:
        """Whether ``value`` breaks this rule."""

    def describe(self) -> str:
        """Return the rule as text."""

    def schema(self) -> Schema:
        """
        Return what the rule adds to the schema of the field's type.

        Its patterns mean the same in Python and in JavaScript with the flag ``u``.
        With ``PARTIAL`` it accepts more than the rule does, otherwise the same.
        """


def whole(pattern: str) -> str:
    """Return a pattern that all of a text must match."""
    return f"^(?:{pattern})$"


def patterns(*found: str) -> Schema:
    """Return the keywords for a string that each of these patterns must match."""
    each = [{"pattern": one} for one in found]
    if len(each) > 1:
        return {"allOf": each}
    return dict(*each)


# Compared by identity: cattrs hashes a rule some dozen times for each class.
@frozen(eq=False)
class Text:
    """
    A string of ``least`` to ``most`` characters, all of it matching ``like``.

    :ivar control: Whether control characters may be in it.
    :ivar lines: Whether line breaks and tabs may be in it all the same.
    :ivar blank: Whether it may be nothing but spaces.
    :ivar meaning: What ``like`` requires, where the pattern itself would not help.
    """

    most: int
    like: str | None = None
    least: int = 0
    control: bool = True
    lines: bool = False
    blank: bool = True
    meaning: str = ""
    _pattern: re.Pattern[str] | None = field(init=False, repr=False)

    @_pattern.default
    def _compiled(self) -> re.Pattern[str] | None:
        return None if self.like is None else re.compile(self.like)

    def violates(self, value: str) -> bool:
        if not self.least <= len(value) <= self.most:
            return True
        if self._pattern is not None and self._pattern.fullmatch(value) is None:
            return True
        # The Unicode categories Cc and Cs.
        refused = _CONTROL_IN_LINES if self.lines else _CONTROL
        if not (self.control or value.isprintable()) and refused.search(value):
            return True
        return not (self.blank or value.strip())

    def describe(self) -> str:
        text = f"at most {self.most} characters"
        if self.least == self.most:
            text = f"{self.most} characters"
        elif self.least:
            text = f"{self.least} to {self.most} characters"
        if self.like:
            text += f", {self.meaning or f'matching {self.like}'}"
        if not self.control:
            text += ", no control characters"
        if self.lines:
            text += " except tabs and line breaks"
        if not self.blank:
            text += ", not blank"
        return text

    def schema(self) -> Schema:
        found = [whole(self.like)] if self.like else []
        if not self.control:
            allowed = r"[\t\n\r]|" if self.lines else ""
            found.append(whole(f"(?:{allowed}[^{CONTROLS}])*"))
        if not self.blank:
            found.append(NOT_BLANK)
        least = {"minLength": self.least} if self.least else {}
        return {**least, "maxLength": self.most, **patterns(*found)}


@frozen(eq=False)
class Range:
    """A finite number from ``low`` to ``high``."""

    low: float
    high: float

    def violates(self, value: float) -> bool:
        # The bounds first: an integer may be too large to ask whether it is finite.
        return not (self.low <= value <= self.high and math.isfinite(value))

    def describe(self) -> str:
        return f"{_written(self.low)} to {_written(self.high)}"

    def schema(self) -> Schema:
        return {"minimum": self.low, "maximum": self.high}


def _written(number: float) -> str:
    """Write a number with all its digits."""
    return f"{number:g}" if abs(number) < 1e6 else str(number)


@frozen(eq=False)
class MaxItems:
    """``least`` to ``most`` entries, when ``unique`` no two of them equal."""

    most: int
    unique: bool = False
    least: int = 0

    def violates(self, value: list[Any]) -> bool:
        if not self.least <= len(value) <= self.most:
            return True
        return self.unique and len(set(value)) != len(value)

    def describe(self) -> str:
        text = f"{self.least} to" if self.least else "at most"
        unique = ", no duplicates" if self.unique else ""
        return f"{text} {self.most} entries{unique}"

    def schema(self) -> Schema:
        unique = {"uniqueItems": True} if self.unique else {}
        least = {"minItems": self.least} if self.least else {}
        return {**least, "maxItems": self.most, **unique}


@frozen(eq=False)
class Check:
    """
    What only one kind of field requires.

    :ivar words: The rule as text.
    :ivar keywords: See ``Rule.schema``.
    :ivar violates: See ``Rule.violates``.
    """

    words: str
    keywords: Schema
    violates: Callable[[Any], bool]

    def describe(self) -> str:
        return self.words

    def schema(self) -> Schema:
        return self.keywords


def one_of(allowed: Collection[str]) -> Check:
    """Return the rule of a string that is one of these."""
    return Check(
        f"one of {', '.join(allowed)}",
        {"enum": list(allowed)},
        lambda value: value not in allowed,
    )


@frozen(eq=False)
class Lenient:
    """A value like the class ``kind``; any other is accepted as well, and ignored."""

    kind: type[Any]

    def violates(self, value: Any) -> bool:
        """See ``Rule.violates``; never."""
        return False

    def describe(self) -> str:
        return "ignored when it breaks a rule of its own"

    def schema(self) -> Schema:
        """See ``Rule.schema``; the generator adds the schema of ``kind``."""
        return {LENIENT: True}


Read = Callable[[Any, Any], Any]
"""Returns a value as a field holds it, or raises; the type it also gets is cattrs'."""


class BrokenRuleError(ValueError):
    """A field's rule was broken; the message is the rule, not the value."""


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


def _exactly(kind: type, also: type | None = None) -> Read:
    """Refuse what cattrs would coerce: ``1`` is not ``"1"``, ``True`` not ``1``."""

    def structure(value: Any, _: Any) -> Any:
        if type(value) is not kind and type(value) is not also:
            raise TypeError
        return value

    return structure


@cache
def converter_of(spelling: Callable[[str], str]) -> Converter:
    """
    Return a converter that coerces nothing; only ``AnyParams`` may have unknown fields.

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
            raise _RuleDefectError(e) from e
        raise BrokenRuleError(refusal)

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
    return f"{name}: wrong type"


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
