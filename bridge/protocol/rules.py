"""
What a field may hold: one rule serves the check, the schema and the reference tables.

A rule stands in a field's annotation, ``title: Annotated[str, Text(200)]``, where
``bridge.protocol.wire`` enforces it and ``docs/generate.py`` documents it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final, Protocol

from attrs import field

from ..classes import frozen
from .text import CONTROLS, SPACES

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
class OneOf:
    """One of the given strings."""

    allowed: tuple[str, ...]

    def violates(self, value: str) -> bool:
        return value not in self.allowed

    def describe(self) -> str:
        return f"one of {', '.join(self.allowed)}"

    def schema(self) -> Schema:
        return {"enum": list(self.allowed)}


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
