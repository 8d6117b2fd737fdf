"""
Versions and ranges of versions: their shape, which version is the lower, and which
versions a range admits, by the rules of npm.

To check the shape is linear in the length of the text, which the caller bounds.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, Final

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

Precedence = tuple[Any, ...]
"""
A place in the order of versions.  Numbers in it are (length, digits), so that one of
any size compares without ever being converted.
"""

_FIRST: Final[Precedence] = ()
_LAST: Final[Precedence] = ((math.inf,),)

# From where up to where, without the end, versions are admitted; and by what version.
_Bounds = tuple[Precedence, Precedence, str]


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


def admits(text: str, version: str) -> bool:
    """
    Whether a range admits a version.

    A pre-release is admitted only by a range that names one of the same numbers.

    :param text: For which ``is_range`` holds.
    :raise ValueError: ``version`` is not a version.
    """
    place = precedence(version)
    numbers, _, pre_release = version.partition("+")[0].partition("-")
    for bounds in map(_alternative, text.split("||")):
        if bounds is not None and all(low <= place < high for low, high, _ in bounds):
            named = [written.startswith(f"{numbers}-") for *_, written in bounds]
            if not pre_release or any(named):
                return True
    return False


def _alternative(text: str) -> list[_Bounds] | None:
    """Read what is between ``||``; ``None``: it is not of a range."""
    words = _words(text)
    if words[1:-1] == ["-"]:
        read = [_bounds(">=", words[0]), _bounds("<=", words[2])]
    else:
        read = [_comparator(word) for word in _words(_APART.sub(r"\1", text))]
    bounds = [one for one in read if one is not None]
    return bounds if len(bounds) == len(read) else None


def _words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word]


def _comparator(word: str) -> _Bounds | None:
    found = _OPERATOR.match(word)
    sign = found[0] if found else ""
    return _bounds(sign, word[len(sign) :], ordered=sign not in _SPANS)


def _bounds(sign: str, text: str, ordered: bool = False) -> _Bounds | None:
    """
    Read a version whose last numbers may be absent or any, after its operator.

    :param ordered: Whether after a number that may be any, all must be.
    :return: ``None`` when it is none.
    """
    match = _PARTIAL.fullmatch(text)
    parts = [part for part in match.groups() if part] if match else []
    known = list(map(int, itertools.takewhile(str.isdecimal, parts)))
    others = [int(part) for part in parts[len(known) :] if part.isdecimal()]
    if not match or (ordered and others):
        return None
    if max((*known, *others), default=0) > _LARGEST_IN_RANGE:
        return None
    version = _dotted(known)
    if len(known) == _PARTS:
        version = text.removeprefix("v").partition("+")[0]
    return (*_sides(sign, known, version), version)


def _dotted(numbers: list[int]) -> str:
    return ".".join(map(str, (*numbers, 0, 0, 0)[:_PARTS]))


def _sides(sign: str, numbers: list[int], lowest: str) -> tuple[Precedence, Precedence]:
    """
    From where up to where an operator admits versions.

    :param numbers: Those that are written.
    :param lowest: The lowest version that they stand for.
    """
    low = before = precedence(lowest)
    end = after = (*low, True)
    if len(numbers) < _PARTS:
        before = precedence(f"{lowest}-0")
        end, after = _above(numbers)
    if sign in _SPANS and numbers:
        # The first number that is not zero is the last that must not change.
        kept = next((n for n, one in enumerate(numbers, 1) if one), _PARTS)
        end, _ = _above(numbers[: kept if sign == "^" else 2])
    sides = {
        "<": (_FIRST, before),
        "<=": (_FIRST, end),
        ">": (after, _LAST),
        ">=": (low, _LAST),
    }
    return sides.get(sign, (low, end))


def _above(numbers: list[int]) -> tuple[Precedence, Precedence]:
    """What is above all versions that begin with some numbers, and its release."""
    if not numbers:
        return _LAST, _LAST
    release = _dotted([*numbers[:-1], numbers[-1] + 1])
    return precedence(f"{release}-0"), precedence(release)
