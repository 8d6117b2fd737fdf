"""Counts what a piece of code calls: the same on every machine, unlike its time."""

from collections import Counter
from collections.abc import Callable, Iterator
from cProfile import Profile
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

# Calls of their own until Python 3.11, and none from 3.12 on (PEP 709).
_COMPREHENSIONS: Final = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>"})


class Calls:
    """The calls of functions in Python that a piece of code made."""

    def __init__(self, counts: Counter[CodeType]) -> None:
        self._counts = counts

    def of(self, function: Callable[..., Any]) -> int:
        """How often a function was called; a coroutine, also to go on."""
        code: Any = function
        return self._counts[code.__code__]

    def within(self, package: ModuleType) -> int:
        """How many calls of functions there were whose source is in a package."""
        (folder,) = package.__path__
        return sum(
            count
            for code, count in self._counts.items()
            if code.co_name not in _COMPREHENSIONS
            and Path(folder) in Path(code.co_filename).parents
        )


def calls_of(do: Callable[[], object]) -> Calls:
    """Run something, and count what it calls."""
    counts: Counter[CodeType] = Counter()
    for code, count in _counted(do):
        if isinstance(code, CodeType):
            counts[code] += count
    return Calls(counts)


def calls_made(do: Callable[[], object]) -> int:
    """Run something, and count every call that it makes, also of what is built in."""
    return sum(count for _, count in _counted(do))


def _counted(do: Callable[[], object]) -> Iterator[tuple[CodeType | str, int]]:
    """Yield what is called, the name of what is built in, and how often."""
    profile = Profile()
    profile.runcall(do)
    for entry in profile.getstats():
        yield entry.code, entry.callcount
