"""
Versions and ranges of versions: their shape, which version is the lower, and which
versions a range admits, by the rules of npm.

To check the shape is linear in the length of the text, which the caller bounds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

from ...classes import frozen

_NUMBER = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_PRE_RELEASE = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*"
_BUILD = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_PART = rf"([xX*]|{_NUMBER})"

_PLAIN = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")
_FULL = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PRE_RELEASE}))?(?:\+{_BUILD})?"
)
_PLAIN_COMPARATOR = re.compile(rf"(?:[<>]=?|[=^~])?{_PLAIN.pattern}")
_PARTIAL = re.compile(
    rf"v?{_PART}(?:\.{_PART}(?:\.{_PART}(?:-{_PRE_RELEASE})?(?:\+{_BUILD})?)?)?"
)
_OPERATOR = re.compile(r"[<>]=?|=|~>?|\^")
# One that stands apart from its version, which is no other operator that does.
_APART = re.compile(
    rf"(?<![^ ])({_OPERATOR.pattern}) +(?! |(?:{_OPERATOR.pattern})(?: |$))"
)
_SPANS: Final = ("^", "~", "~>")
_PARTS: Final = 3

PLAIN_COMPARATORS: Final = 4
PLAIN_RANGE: Final = (
    f"^ *{_PLAIN_COMPARATOR.pattern}"
    f"(?: +{_PLAIN_COMPARATOR.pattern}){{0,{PLAIN_COMPARATORS - 1}}} *$"
)
"""A pattern, also of JavaScript, for what ``is_plain_range`` accepts."""

_LARGEST_IN_RANGE: Final = 2**53 - 1  # the largest number npm's ranges take

# How far apart two versions are decided: numbers as (length, digits), so that a
# number of any size compares without ever being converted.
_Number = tuple[int, str]
Precedence = tuple[_Number, _Number, _Number, bool, tuple[tuple[bool, int, str], ...]]


def version_pattern(plain: bool) -> str:
    """
    Return a pattern, also of JavaScript, that all of a version matches.

    :param plain: Whether ``is_plain_version`` decides, or ``is_version``.
    """
    return _PLAIN.pattern if plain else _FULL.pattern


def is_version(text: str) -> bool:
    """Whether ``text`` is a version by SemVer 2."""
    return _FULL.fullmatch(text) is not None


def is_plain_version(text: str) -> bool:
    """Whether ``text`` is ``N.N.N`` and nothing more, without leading zeros."""
    return _PLAIN.fullmatch(text) is not None


def precedence(version: str) -> Precedence:
    """
    What versions are ordered by: the lower version has the lower value.

    Build metadata has no part in it.

    :raise ValueError: It is not a version.
    """
    match = _FULL.fullmatch(version)
    if match is None:
        raise ValueError("not a version")
    major, minor, patch, pre_release = match.groups()
    identifiers = pre_release.split(".") if pre_release else ()
    return (
        (len(major), major),
        (len(minor), minor),
        (len(patch), patch),
        not identifiers,  # a release is above its pre-releases
        tuple(map(_identifier_precedence, identifiers)),
    )


def _identifier_precedence(identifier: str) -> tuple[bool, int, str]:
    if identifier.isdecimal():
        return False, len(identifier), identifier
    return True, 0, identifier


def is_lower(version: str, than: str) -> bool:
    """
    Whether ``version`` has a lower precedence than ``than``.

    :raise ValueError: One of them is not a version.
    """
    return precedence(version) < precedence(than)


def is_plain_range(text: str) -> bool:
    """Whether ``text`` is one to four plain versions, each with its operator."""
    return re.fullmatch(PLAIN_RANGE, text) is not None


def is_range(text: str) -> bool:
    """
    Whether ``text`` is a range as npm writes them.

    That is alternatives between ``||``; each is empty, a hyphen range, or
    comparators, x-ranges, tilde and caret ranges next to each other.
    """
    return all(_alternative(part) is not None for part in text.split("||"))


def _words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word]


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

    :param text: For which ``is_range`` holds.
    :raise ValueError: ``version`` is not a version.
    """
    precedence(version)
    alternatives = map(_alternative, text.split("||"))
    return any(one is not None and _all_hold(one, version) for one in alternatives)


def _all_hold(bounds: list[_Bound], version: str) -> bool:
    if not all(bound.holds(version) for bound in bounds):
        return False
    numbers, _, pre_release = version.partition("+")[0].partition("-")
    return not pre_release or any(
        bound.written and bound.version.partition("-")[0] == numbers for bound in bounds
    )


def _alternative(text: str) -> list[_Bound] | None:
    """Read what is between ``||``; ``None``: it is not of a range."""
    words = _words(text)
    pairs = _hyphened(words) if "-" in words else _compared(text)
    bounds: list[_Bound] = []
    for sign, partial in pairs:
        if partial is None:
            return None
        bounds += _comparator(sign, partial)
    return bounds


def _hyphened(words: list[str]) -> Iterator[tuple[str, _Partial | None]]:
    low, high = (words[0], words[-1]) if words[1:-1] == ["-"] else ("", "")
    yield ">=", _partial(low)
    yield "<=", _partial(high)


def _compared(text: str) -> Iterator[tuple[str, _Partial | None]]:
    for word in _words(_APART.sub(r"\1", text)):
        found = _OPERATOR.match(word)
        sign = found[0] if found else ""
        yield sign or "=", _partial(word[len(sign) :], sign not in _SPANS)


def _partial(text: str, ordered: bool = False) -> _Partial | None:
    """
    Read a version whose last parts may be absent or any.

    :param ordered: Whether after a part that may be any, all must be.
    :return: ``None`` when it is none.
    """
    match = _PARTIAL.fullmatch(text)
    if match is None:
        return None
    parts = [part for part in match.groups() if part]
    known = list(itertools.takewhile(str.isdecimal, parts))
    if ordered and any(part.isdecimal() for part in parts[len(known) :]):
        return None
    if any(part.isdecimal() and int(part) > _LARGEST_IN_RANGE for part in parts):
        return None
    return _Partial(tuple(map(int, known)), text.removeprefix("v").partition("+")[0])


def _comparator(sign: str, partial: _Partial) -> Iterator[_Bound]:
    whole = len(partial.numbers) == _PARTS
    written = whole and "-" in partial.text
    if sign in _SPANS or (sign == "=" and not whole):
        yield _Bound(">=", partial.lowest, written)
        if partial.numbers:
            yield _Bound("<", partial.above(_fixed(sign, partial.numbers)))
    elif whole:
        for one in (">=", "<=") if sign == "=" else (sign,):
            yield _Bound(one, partial.text, written)
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
