"""
Which versions a range admits, by the rules of npm.

A range was found to be one by ``bridge.plugins.tree.versions`` before it is asked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...classes import frozen
from .versions import precedence

_COMPARATOR: Final = re.compile(r"([<>]=?|=|~>?|\^)?\s*v?([^\s<>=~^]+)")
_ANY: Final = ("x", "X", "*")
_PARTS: Final = 3


@frozen
class _Bound:
    """
    One side of what is admitted.

    :ivar sign: ``<``, ``<=``, ``>`` or ``>=``.
    :ivar version: A whole version.
    :ivar written: Whether the author wrote this version, with a pre-release.
    """

    sign: str
    version: str
    written: bool = False

    def holds(self, version: str) -> bool:
        """Whether a version is on the right side."""
        one, other = precedence(version), precedence(self.version)
        if one == other:
            return self.sign.endswith("=")
        return (one < other) == self.sign.startswith("<")


@frozen
class _Partial:
    """A version whose last numbers may be absent, or any."""

    numbers: tuple[int, ...]
    text: str

    @property
    def lowest(self) -> str:
        """The lowest version that it stands for."""
        if len(self.numbers) == _PARTS:
            return self.text
        return _dotted(self.numbers)

    @property
    def has_pre_release(self) -> bool:
        """Whether it names a pre-release."""
        return len(self.numbers) == _PARTS and "-" in self.text

    def above(self, place: int) -> str:
        """The lowest version above all that share the numbers up to ``place``."""
        kept = (*self.numbers, 0, 0, 0)[: place + 1]
        return _dotted((*kept[:-1], kept[-1] + 1)) + "-0"


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in (*numbers, 0, 0, 0)[:_PARTS])


def admits(text: str, version: str) -> bool:
    """
    Whether a range admits a version.

    A pre-release is admitted only by a range that names one of the same numbers.

    :param text: For which ``is_range`` or ``is_plain_range`` holds.
    :raise ValueError: ``version`` is not a version.
    """
    precedence(version)
    return any(_alternative(part, version) for part in text.split("||"))


def _alternative(text: str, version: str) -> bool:
    bounds = list(_bounds(text))
    if not all(bound.holds(version) for bound in bounds):
        return False
    numbers, _, pre_release = version.partition("+")[0].partition("-")
    return not pre_release or any(
        bound.written and bound.version.partition("-")[0] == numbers for bound in bounds
    )


def _bounds(text: str) -> Iterator[_Bound]:
    low, hyphen, high = text.strip().partition(" - ")
    if hyphen:
        yield from _comparator(">=", _partial(low.strip()))
        yield from _comparator("<=", _partial(high.strip()))
        return
    for found in _COMPARATOR.finditer(text):
        yield from _comparator(found[1] or "=", _partial(found[2]))


def _partial(text: str) -> _Partial:
    text = text.removeprefix("v").partition("+")[0]
    numbers = []
    for part in text.partition("-")[0].split("."):
        if part in _ANY:
            break
        numbers.append(int(part))
    return _Partial(tuple(numbers), text)


def _comparator(sign: str, partial: _Partial) -> Iterator[_Bound]:
    whole = len(partial.numbers) == _PARTS
    written = partial.has_pre_release
    if sign in ("^", "~", "~>") or (sign == "=" and not whole):
        yield _Bound(">=", partial.lowest, written)
        if partial.numbers:
            yield _Bound("<", partial.above(_fixed(sign, partial.numbers)))
    elif sign == "=":
        yield _Bound(">=", partial.text, written)
        yield _Bound("<=", partial.text, written)
    elif whole:
        yield _Bound(sign, partial.text, written)
    else:
        yield _half_open(sign, partial)


def _fixed(sign: str, numbers: tuple[int, ...]) -> int:
    """The place of the last number that must not change."""
    if sign == "^":
        # The first that is not zero, or the last one there is.
        return next((n for n, number in enumerate(numbers) if number), len(numbers) - 1)
    return len(numbers) - 1 if sign == "=" else min(1, len(numbers) - 1)


def _half_open(sign: str, partial: _Partial) -> _Bound:
    """What ``>1.2``, ``<=1.2`` and the like mean."""
    if not partial.numbers:
        # All versions, or none.
        return _Bound(
            ">=" if "=" in sign else "<", "0.0.0" if "=" in sign else "0.0.0-0"
        )
    above = partial.above(len(partial.numbers) - 1)
    if sign == ">":
        return _Bound(">=", above.removesuffix("-0"))
    if sign == "<=":
        return _Bound("<", above)
    return _Bound(sign, partial.lowest + ("-0" if sign == "<" else ""))
