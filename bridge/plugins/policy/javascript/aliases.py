"""
Names that a source gives to global objects: ``const page = document``.

Names inside a block that hides such a name have another one in the bundler's output,
so a name means one thing from its declaration to the end of the block.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import Final

from attrs import field

from ....classes import define
from .patterns import are_parameters
from .tokens import NAME, Code, UnreadableError

_ASSIGNING: Final = frozenset({"=", "||=", "&&=", "??="})
_JOINING: Final = frozenset({"||", "??", "&&", "?", ":"})
"""Operators whose result can be what stands next to them."""

_RESULT: Final = frozenset({")", "||", "??", ":", ";", ",", "]", "}"})
"""What comes after an object that is taken as it is."""

_AWAIT: Final = frozenset({"await"})
_BOUNDS: Final = frozenset({",", ";", "(", "[", "{"})
"""What ends an expression towards the front."""

_BODIES: Final = _ASSIGNING | {"=>"}
"""What does so too, except between the ``?`` and the ``:`` of a choice."""

_PLAIN_DECLARATIONS: Final = frozenset({"const", "let"})
_OPENING: Final = frozenset({"{", "[", "(", ",", "..."})
"""What stands before a part of a pattern, or before a parameter."""

_BEFORE_LISTS: Final = frozenset({";", "(", "[", "{", "in"})
"""What stands in no list of declarations."""

_AFTER: Final = frozenset({",", ";", ")", "]", "}"})
"""What ends an expression."""

_MOST: Final = 200_000
"""Steps from name to name, many times what following those of any program takes."""


@define
class Uses:
    """
    Where the objects of some names are used.

    :ivar found: Pairs of a token's index, and a global name that it may stand for.
    """

    code: Code
    found: set[tuple[int, str]] = field(factory=set)
    _places: dict[str, list[int]] = field(factory=dict, init=False)
    _scopes: dict[str, dict[int, tuple[int, int]]] = field(factory=dict, init=False)
    _followed: set[tuple[str, int, str]] = field(factory=set, init=False)
    _steps: int = field(default=0, init=False)

    def follow(self, names: dict[int, str]) -> None:
        """
        Find every use, from those that name the objects themselves.

        :raise UnreadableError: They are too many.
        """
        pending = list(names.items())
        while pending:
            index, name = pending.pop()
            self._step()
            if (index, name) in self.found:
                continue
            self.found.add((index, name))
            for target in self.targets(index):
                if self.code.is_kind(target, NAME):
                    pending += [(place, name) for place in self._uses(target, name)]

    def targets(self, index: int) -> Iterator[int]:
        """
        What an object is assigned to: the index of a name, or of a pattern's ``{``.

        Members of other objects are not followed.
        """
        code = self.code
        start = end = index
        while code.text(end + 1) in _RESULT:
            before = start - 1
            text = code.text(before)
            if text in _ASSIGNING:
                yield from self._target(before - 1)
            if text in _ASSIGNING or text in _JOINING:
                start = self._start(before)
            elif code.is_word(before, _AWAIT):
                start = before
            else:
                # Of several values between commas, the last one counts.
                group = code.parent[before] if text == "," else before
                if not code.is_group(group):
                    return
                start, end = group, code.partner[group]

    def _start(self, operator: int) -> int:
        """Where the expression begins that ends with an operator."""
        code = self.code
        at, choices = operator, 0
        while at > 0:
            self._step()
            text, before = code.text(at), code.text(at - 1)
            choices += (text == ":") - (text == "?" and choices > 0)
            if before in _BOUNDS or (before in _BODIES and not choices):
                break
            at = code.partner.get(at - 1, at - 1)
        return at

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST:
            raise UnreadableError

    def _target(self, index: int) -> Iterator[int]:
        code = self.code
        if code.text(index) == "}":
            yield code.partner[index]
        elif code.is_kind(index, NAME) and not code.is_member(index):
            yield index

    def _uses(self, target: int, name: str) -> list[int]:
        """Every place with the name of a target, where it is the same name."""
        code = self.code
        if not self._places:
            for index, kind in enumerate(code.kinds):
                if kind == NAME and not code.is_member(index):
                    self._places.setdefault(code.text(index), []).append(index)
        text = code.text(target)
        places = self._places[text]
        if text not in self._scopes:
            self._scopes[text] = dict(self._scoped(places))
        start, end = self._scopes[text][target]
        if (text, start, name) in self._followed:
            return []
        self._followed.add((text, start, name))
        inside = places[bisect_left(places, start + 1) : bisect_left(places, end)]
        return [at for at in inside if at != target]

    def _scoped(self, places: list[int]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Between which tokens a name means what it does at each of its places."""
        declared = map(self._declared, places)
        scopes = deque(sorted({scope for scope in declared if scope}))
        around = [(-1, len(self.code.kinds))]
        for place in places:
            while scopes and scopes[0][0] < place:
                around.append(scopes.popleft())
            while around[-1][1] <= place:
                around.pop()
            yield place, around[-1]

    def _declared(self, at: int) -> tuple[int, int] | None:
        """Where a name means the same, if it is certain that it is declared here."""
        code = self.code
        bracket = code.parent[at]
        if code.text(code.partner.get(at, at) + 1) == ":":
            return None  # a key
        is_first = code.is_word(at - 1, _PLAIN_DECLARATIONS)
        if is_first or (code.text(at - 1) == "," and self._is_listed(at)):
            # What a loop's head declares means the same in the body, after it.
            block = code.parent[bracket] if code.text(bracket) == "(" else bracket
            return block, code.partner.get(block, len(code.kinds))
        if bracket < 0 or code.text(at - 1) not in _OPENING:
            return None
        if code.text(bracket) != "(":
            return self._declared(bracket)
        return (bracket, self._end(bracket)) if are_parameters(code, bracket) else None

    def _is_listed(self, at: int) -> bool:
        """Whether const or let declares what stands here, perhaps after others."""
        code = self.code
        while at > 0 and code.text(at - 1) not in _BEFORE_LISTS:
            self._step()
            at = code.partner.get(at - 1, at - 1)
            is_key = code.text(at + 1) in (":", "(")
            if code.is_word(at, _PLAIN_DECLARATIONS) and not is_key:
                return True
        return False

    def _end(self, parameters: int) -> int:
        """Where a function ends, from its parameters."""
        code = self.code
        at = code.partner[parameters] + 1
        at += code.text(at) == "=>"
        if code.text(at) == "{":
            return code.partner[at]
        while at < len(code.kinds) and code.text(at) not in _AFTER:
            self._step()
            at = code.partner.get(at, at) + 1
        return at
