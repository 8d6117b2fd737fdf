"""
What the tokens of the bundler's output mean: which brackets are patterns and what is in
them, what a call is given, also one that is borrowed by call, apply or bind, and which
names a source gives to global objects.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import Final

from attrs import field

from ....classes import define
from ..rules import unescape
from .tokens import NAME, STRING, Code, UnreadableError

_STATEMENTS: Final = frozenset({"if", "while", "switch", "with", "extends"})
_MAKING: Final = frozenset({"extends", "new"})
_LOOPS: Final = frozenset({"of", "in"})
_FUNCTION: Final = frozenset({"function"})
_COMPARED: Final = frozenset(
    {"==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof"}
)

_BORROWED: Final = frozenset({"call", "apply", "bind"})


def string_value(code: Code, index: int) -> str | None:
    """The value of a string token; ``None`` for any other token."""
    if not code.is_kind(index, STRING):
        return None
    return unescape(code.texts[index][1:-1])


def key_name(code: Code, index: int) -> tuple[str | None, int]:
    """
    Read the key of a member that starts at a token.

    :return: Its constant name, ``None`` for one that is computed; and the index of
        what follows the key.
    """
    if code.text(index) == "[":
        end = code.partner[index]
        name = string_value(code, index + 1) if end == index + 2 else None
        return name, end + 1
    if code.is_kind(index, NAME):
        return code.text(index), index + 1
    return string_value(code, index), index + 1


def keys(code: Code, bracket: int) -> Iterator[tuple[int, str | None]]:
    """
    The keys of an object literal, a pattern or a class body.

    :param bracket: The index of its ``{``.
    :return: The index of each key, and its name if that is constant.
    """
    for index in elements(code, bracket):
        at = index
        while code.text(at) in ("get", "set", "async", "static", "*") and code.text(
            at + 1
        ) not in ("(", ":", ",", "}", "="):
            at += 1
        if code.text(at) != "...":
            yield at, key_name(code, at)[0]


def elements(code: Code, bracket: int) -> Iterator[int]:
    """The first token of each part between commas, inside a bracket."""
    at, end = bracket + 1, code.partner[bracket]
    if at < end:
        yield at
    while at < end:
        if code.text(at) in ("(", "[", "{"):
            at = code.partner[at]
        elif code.text(at) == "," and at + 1 < end:
            yield at + 1
        at += 1


def is_pattern(code: Code, bracket: int) -> bool:
    """Whether a ``{`` or ``[`` begins a pattern that is assigned to."""
    while True:
        start, end = code.enclosed(bracket, code.partner[bracket])
        after, outer = code.text(end + 1), code.parent[start]
        if after == "=":
            return True
        if after in _LOOPS and code.is_loop(outer):
            return True
        if outer < 0 or code.text(start - 1) not in (":", ",", "[", "...", "("):
            return False
        if code.text(outer) == "(":
            return are_parameters(code, outer)
        bracket = outer


def are_parameters(code: Code, group: int) -> bool:
    """Whether a ``(`` has the parameters of a function."""
    after = code.text(code.partner[group] + 1)
    # A method may be called like a statement, with no blank after its name.
    is_statement = code.is_word(group - 1, _STATEMENTS) or code.is_loop(group)
    if after != "{" or (is_statement and not code.is_close(group)):
        return after == "=>"
    return not _is_extended(code, group)


def _is_extended(code: Code, group: int) -> bool:
    """Whether what a ``(`` calls makes what a class extends."""
    at = code.partner.get(group - 1, group - 1)
    # No function has such a name.
    is_computed = code.text(at) == "[" and code.continues(at)
    if code.text(at) in ("(", "{", "?.") or code.is_member(at) or is_computed:
        return True
    return code.is_word(at - 1, _MAKING) and not code.is_word(at, _FUNCTION)


def is_assigned(code: Code, index: int) -> bool:
    """Whether a value is assigned to the member whose name is at ``index``."""
    end = index
    # Brackets that begin before the member's object end right after its name.
    while code.text(end + 1) == ")" and code.is_group(code.partner[end + 1]):
        end += 1
    after, outer = code.text(end + 1), code.parent[end]
    if after in ("=", "+=", "||=", "&&=", "??="):
        return True
    if after in _LOOPS:
        return code.is_loop(outer)
    closes = after in (",", "}", "]") and code.text(outer) in ("{", "[")
    return closes and is_pattern(code, outer)


def texts(code: Code, start: int) -> Iterator[tuple[int, str]]:
    """
    The strings that an argument can be, or can begin or end with.

    :param start: The argument's first token.
    :return: The index and the value of each: an array with one string is as good as
        the string.  Not those that are compared, nor those in functions and calls.
    """
    at, group = start, code.parent[start]
    while code.parent[at] == group and code.text(at) != ",":
        if code.text(at) == "=>":
            at = _after_body(code, at + 1)
            continue
        value = string_value(code, at)
        if value is not None:
            near = (code.text(at - 1), code.text(at + 1))
            if not _COMPARED.intersection(near):
                yield at, value
        if code.text(at) not in ("(", "[", "{"):
            at += 1
            continue
        if _is_entered(code, at):
            for element in elements(code, at):
                yield from texts(code, element)
        at = code.partner[at] + 1


def _after_body(code: Code, start: int) -> int:
    """The index of what follows an arrow function's body: a choice may go on there."""
    if code.text(start) == "{":
        return code.partner[start] + 1
    at, group, choices = start, code.parent[start], 0
    while code.parent[at] == group and code.text(at) != ",":
        choices += (code.text(at) == "?") - (code.text(at) == ":")
        if choices < 0:
            break
        at = code.partner.get(at, at) + 1
    return at


def _is_entered(code: Code, bracket: int) -> bool:
    """Whether a value may be what is inside: brackets that group, arrays, templates."""
    if code.text(bracket) == "{" or code.text(code.partner[bracket] + 1) == "=>":
        return False
    if code.text(bracket - 1) == "*" and code.is_word(bracket - 2, _FUNCTION):
        return False
    # What the bundler makes of a tagged template begins with its strings; the tag may
    # get them from a cache: tag(_a || (_a = __template(["x"]))).
    before = code.text(bracket - 1), code.text(bracket + 6)
    is_template = any(text.startswith("__template") for text in before)
    return is_template or not code.continues(bracket)


def all_texts(code: Code, index: int) -> Iterator[tuple[int, str]]:
    """The texts in the arguments of a call of what is at ``index``, as written."""
    group = _group(code, index)
    if group is not None:
        for first in elements(code, group[0]):
            yield from texts(code, first)


def argument(code: Code, index: int, number: int) -> int:
    """
    Find one argument of a call of what is at ``index``.

    :param number: Which one the callee gets, from 0.
    :return: The index of its first token; -1 when there is none.
    """
    found = _group(code, index)
    given = _arguments(code, *found) if found else []
    return given[number] if number < len(given) else -1


def argument_texts(code: Code, index: int, number: int) -> Iterator[tuple[int, str]]:
    """The texts that one argument of a call can be; see ``argument`` and ``texts``."""
    given = argument(code, index, number)
    if given >= 0:
        yield from texts(code, given)


def _group(code: Code, index: int) -> tuple[int, str] | None:
    """The ``(`` of a call of what is at ``index``, and how it is borrowed."""
    at = code.after(index)
    how = ""
    if code.text(at) in (".", "?.") and code.text(at + 1) in _BORROWED:
        how = code.text(at + 1)
        at += 2
    if code.text(at) == "?.":
        at += 1
    return (at, how) if code.text(at) == "(" else None


def _arguments(code: Code, group: int, how: str) -> list[int]:
    given = list(elements(code, group))
    if how == "apply":
        is_array = len(given) > 1 and code.text(given[1]) == "["
        return list(elements(code, given[1])) if is_array else []
    if how == "bind":
        called = code.partner[group] + 1
        if code.text(called) == "?.":
            called += 1
        later = elements(code, called) if code.text(called) == "(" else ()
        return [*given[1:], *later]
    return given[1:] if how == "call" else given


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
    Where the objects of some names are used: ``const page = document``.

    Names inside a block that hides such a name have another one in the bundler's
    output, so a name means one thing from its declaration to the end of the block.

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
