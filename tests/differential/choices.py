"""The choices a random program is made of, which can be replayed and made smaller."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_CHUNKS: Final = (16, 8, 4, 2, 1)


class Choices:
    """
    Where a program's choices come from: a generator of numbers, or earlier choices.

    :ivar taken: The choices so far, each a number below its limit.
    """

    def __init__(self, seed: int, replayed: Sequence[int] | None = None) -> None:
        self.taken: list[int] = []
        self._replayed = replayed
        self._random = random.Random(seed).random  # noqa: S311 - not for secrets

    def below(self, limit: int) -> int:
        """Choose a number; where a replay has none, the smallest."""
        if self._replayed is None:
            choice = int(self._random() * limit)
        elif len(self.taken) < len(self._replayed):
            choice = min(self._replayed[len(self.taken)], limit - 1)
        else:
            choice = 0
        self.taken.append(choice)
        return choice

    def pick(self, options: Sequence[T]) -> T:
        """Choose an option; the first is the simplest."""
        return options[self.below(len(options))]

    def rarely(self, one_in: int) -> bool:
        """Choose whether to do something unusual."""
        return self.below(one_in) == one_in - 1


def smallest(
    choices: Sequence[int], still_fails: Callable[[list[int]], bool], attempts: int
) -> list[int]:
    """
    Make choices fewer and smaller for as long as what they lead to still fails.

    :param attempts: How many candidates to try at most.
    """
    best, is_better = list(choices), True
    while is_better and attempts > 0:
        is_better = False
        for candidate in _smaller(best):
            attempts -= 1
            if candidate != best and still_fails(candidate):
                best, is_better = candidate, True
                break
            if attempts <= 0:
                break
    return best


def _smaller(choices: list[int]) -> Iterator[list[int]]:
    for size in _CHUNKS:
        for at in range(0, len(choices), size):
            yield choices[:at] + choices[at + size :]
    for at, choice in enumerate(choices):
        if choice:
            yield [*choices[:at], 0, *choices[at + 1 :]]
    for at, choice in enumerate(choices):
        if choice > 1:
            yield [*choices[:at], choice // 2, *choices[at + 1 :]]
