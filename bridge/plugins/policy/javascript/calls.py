"""Calls in the bundler's output, also those borrowed: by call, apply and bind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .patterns import arguments, texts
from .tokens import Code

_BORROWED: Final = frozenset({"call", "apply", "bind"})


def all_texts(code: Code, index: int) -> Iterator[tuple[int, str]]:
    """The texts in the arguments of a call of what is at ``index``, as written."""
    group = _group(code, index)
    if group is not None:
        for first in arguments(code, group[0]):
            yield from texts(code, first)


def argument(code: Code, index: int, number: int) -> int | None:
    """
    Find one argument of a call of what is at ``index``.

    :param number: Which one the callee gets, from 0.
    :return: The index of its first token; ``None`` when there is none.
    """
    found = _group(code, index)
    if found is None:
        return None
    given = _arguments(code, *found)
    return given[number] if number < len(given) else None


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
    given = arguments(code, group)
    if how == "apply":
        is_array = len(given) > 1 and code.text(given[1]) == "["
        return arguments(code, given[1]) if is_array else []
    if how == "bind":
        called = code.partner[group] + 1
        if code.text(called) == "?.":
            called += 1
        return given[1:] + (arguments(code, called) if code.text(called) == "(" else [])
    return given[1:] if how == "call" else given
