"""
Names that a file gives to strings: ``const key = "constructor"``.

A string is as much refused by its name as in its place, where the name can be the one
that was given to it.
"""

from __future__ import annotations

from attrs import Factory, define, frozen

from .budget import TooComplexError
from .constructs import ASSIGNED, CODE_TAGS, MEMBERS, TIMERS
from .scopes import Scope

MEMBER = "member"
ASSIGNMENT = "assignment"
TAG = "tag"

_MOST_NAMED = 50_000
_MOST_USED = 50_000
_STEPS = 200_000


@frozen
class Use:
    """
    A name that stands where certain strings are refused.

    :ivar place: ``MEMBER``, ``ASSIGNMENT``, ``TAG``, or a timer's name.
    """

    name: str
    place: str
    line: int
    scope: Scope


@define
class Constants:
    """The strings that names can hold, and where these names are used."""

    _texts: dict[tuple[str, Scope], set[str]] = Factory(dict)
    _anywhere: dict[str, set[str]] = Factory(dict)
    _uses: set[Use] = Factory(set)

    def bind(self, name: str, text: str, scope: Scope) -> None:
        """
        Note that ``name`` can hold a string; which one matters for few only.

        :raise TooComplexError: There are more than people write.
        """
        if len(self._texts) >= _MOST_NAMED:
            raise TooComplexError
        self._texts.setdefault((name, scope), set()).add(telling(text))
        self._anywhere.setdefault(name, set()).add(telling(text))

    def use(self, use: Use) -> None:
        """
        Note a use, to be judged when the whole file is known.

        :raise TooComplexError: There are more than people write.
        """
        if len(self._uses) >= _MOST_USED:
            raise TooComplexError
        self._uses.add(use)

    def hits(self) -> set[tuple[int, str]]:
        """The lines and rules of the uses that are refused."""
        found: set[tuple[int, str]] = set()
        steps = _STEPS
        for use in self._uses:
            held = self._anywhere.get(use.name, set())
            if not _rules(use, held):
                continue
            scope: Scope | None = use.scope
            while steps and scope is not None and (use.name, scope) not in self._texts:
                scope = scope.outer
                steps -= 1
            # In a file made to take long, a name means all that it ever holds.
            if steps:
                held = set() if scope is None else self._texts[use.name, scope]
            found |= {(use.line, rule) for rule in _rules(use, held)}
        return found


def _rules(use: Use, texts: set[str]) -> set[str]:
    """The rules that strings break where a name of theirs is used."""
    rules = (constant_rule(use.place, text) for text in texts)
    return {rule for rule in rules if rule is not None}


def constant_rule(place: str, text: str) -> str | None:
    """The rule that a string breaks in a place, of those ``Use`` tells."""
    if place in TIMERS:
        return f"{place} with a string"
    if place == MEMBER and text in MEMBERS:
        return text
    if place == ASSIGNMENT and text in ASSIGNED:
        return f"{text} assignment"
    if place == TAG and text in CODE_TAGS:
        return "createElement of a code-loading tag"
    return None


def telling(text: str) -> str:
    """A string as far as it matters which one it is, empty if it does not."""
    if text in MEMBERS or text in ASSIGNED:
        return text
    tag = text.strip().lower()
    return tag if tag in CODE_TAGS else ""
