"""
Names that a source gives to global objects: ``const page = document``.

Names inside a block that hides such a name have another one in the bundler's output,
so a name means one thing from its declaration to the end of the block.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from attrs import define, field

from .tokens import Code, Kind

_JOINING: Final = frozenset({"||", "??", "&&", "?", ":"})
"""Operators whose result can be what stands next to them."""

_RESULT: Final = frozenset({")", "||", "??", ":", ";", ",", "]", "}", "&&"})
"""What comes after a value that is taken as it is."""

_PLAIN_DECLARATIONS: Final = frozenset({"const", "let"})
_MOST: Final = 20_000


@define
class Uses:
    """
    Where the objects of some names are used.

    :ivar found: Pairs of a token's index, and the global name that it stands for.
    """

    code: Code
    found: dict[int, str] = field(factory=dict)
    _places: dict[str, list[int]] = field(factory=dict, init=False)
    _seen: set[tuple[str, str, int]] = field(factory=set, init=False)

    def follow(self, names: dict[int, str]) -> None:
        """Find every use, from those that name the objects themselves."""
        pending = list(names.items())
        while pending and len(self.found) < _MOST:
            index, name = pending.pop()
            if index in self.found:
                continue
            self.found[index] = name
            for target in self.targets(index):
                if self.code.is_kind(target, Kind.NAME):
                    pending += [(place, name) for place in self._uses(target, name)]

    def targets(self, index: int) -> Iterator[int]:
        """
        What an object is assigned to: the index of a name, or of a pattern's ``{``.

        Members of other objects are not followed.
        """
        code = self.code
        if code.text(index + 1) not in _RESULT:
            return
        at = index - 1
        while at >= 0:
            text = code.text(at)
            if text == "=":
                yield from self._target(at - 1)
                at = self._before_target(at - 1)
                continue
            if text in (")", "]", "}"):
                at = code.partner[at] - 1
            elif (text == "(" and code.is_group(at)) or (
                text in _JOINING or text in (".", "?.") or self._is_operand(at)
            ):
                at -= 1
            else:
                return

    def _is_operand(self, index: int) -> bool:
        kinds = (Kind.NAME, Kind.STRING, Kind.NUMBER, Kind.REGEX)
        if not any(self.code.is_kind(index, kind) for kind in kinds):
            return False
        return self.code.ends_value(index)

    def _target(self, index: int) -> Iterator[int]:
        code = self.code
        if code.text(index) == "}":
            yield code.partner[index]
        elif code.is_kind(index, Kind.NAME) and not code.is_member(index):
            yield index

    def _before_target(self, index: int) -> int:
        """Where ``a = b = document`` goes on; -1 where the target is a declaration."""
        code = self.code
        if code.text(index) in ("}", "]"):
            return code.partner[index] - 1
        return index - 1

    def _uses(self, target: int, name: str) -> list[int]:
        """
        Every other place with the name of a target, where it is the same name.

        :param name: The global one; nothing is returned for the same question twice.
        """
        code = self.code
        if not self._places:
            for index, token in enumerate(code.tokens):
                if token.kind is Kind.NAME and not code.is_member(index):
                    self._places.setdefault(token.text, []).append(index)
        last = len(code.tokens)
        if code.text(target - 1) in _PLAIN_DECLARATIONS and code.parent[target] >= 0:
            last = code.partner[code.parent[target]]
        is_whole = last == len(code.tokens)
        text = code.tokens[target].text
        asked = (text, name, -1 if is_whole else target)
        if asked in self._seen:
            return []
        self._seen.add(asked)
        places = self._places[text]
        if is_whole:
            return places
        return places[bisect_right(places, target) : bisect_left(places, last)]
