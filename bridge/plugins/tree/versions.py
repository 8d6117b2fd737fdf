"""
Versions and ranges of versions: their shape, and which version is the lower.

Everything here is linear in the length of the text, which the caller bounds.
"""

from __future__ import annotations

import re
from typing import Final

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
    words = _words(text)
    return 1 <= len(words) <= PLAIN_COMPARATORS and all(
        _PLAIN_COMPARATOR.fullmatch(word) for word in words
    )


def is_range(text: str) -> bool:
    """
    Whether ``text`` is a range as npm writes them.

    That is alternatives between ``||``; each is empty, a hyphen range, or
    comparators, x-ranges, tilde and caret ranges next to each other.
    """
    return all(_is_alternative(_words(part)) for part in text.split("||"))


def _words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word]


def _is_alternative(words: list[str]) -> bool:
    if "-" in words:
        return (
            len(words) == 3
            and words[1] == "-"
            and _is_partial(words[0])
            and _is_partial(words[2])
        )
    operator = ""
    for word in words:
        if not operator and _OPERATOR.fullmatch(word):
            operator = word
        elif _is_comparator(operator + word):
            operator = ""
        else:
            return False
    return not operator


def _is_comparator(text: str) -> bool:
    match = _OPERATOR.match(text)
    if match is None:
        return _is_partial(text, ordered=True)
    return _is_partial(text[match.end() :], ordered=match[0][0] not in "^~")


def _is_partial(text: str, *, ordered: bool = False) -> bool:
    """
    Whether ``text`` is a version whose last parts may be absent or any.

    :param ordered: Whether after a part that may be any, all must be.
    """
    match = _PARTIAL.fullmatch(text)
    if match is None:
        return False
    parts = [part for part in match.groups() if part]
    numbers = [part.isdecimal() for part in parts]
    if ordered and numbers != sorted(numbers, reverse=True):
        return False
    return all(
        int(part) <= _LARGEST_IN_RANGE
        for part, number in zip(parts, numbers, strict=True)
        if number
    )
