"""Compare what the scan finds with what is live in the real bundle."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from bridge.plugins.policy.rules import UNKNOWN

from ..directories import IN_MEMORY
from ..plugins.policy.scanning import every_hit
from .building import Build
from .programs import Program
from .writer import Choices

FAILED: Final = "the scan fails:"
_WHOLE: Final = frozenset({"syntax error", "minified", "packed source"})
_SHAPES: Final = frozenset({"invisible characters", "escape sequences", "minified"})
# The programs are parts of plugins: something else declares their names.
_ELSEWHERE: Final = frozenset({UNKNOWN})


@frozen
class Miss:
    """
    A program the scan is wrong about.

    :ivar missed: What is live and was not found; empty if it is honest and refused.
    :ivar found: The rules that were reported.
    """

    seed: int
    program: Program
    missed: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def report(self) -> str:
        wrong = (
            f"live, not found: {', '.join(self.missed)}" if self.missed else "honest"
        )
        head = f"==== seed {self.seed} {self.program.suffix} | {wrong}"
        return f"{head} | reported: {', '.join(self.found)}\n{self.program.scanned}\n"


@define
class Tally:
    """
    What was compared.

    :ivar refused: How many programs the scan or the build refuses as a whole.
    :ivar live: How many listed constructs the bundles hold.
    """

    refused: int = 0
    live: int = 0
    misses: list[Miss] = field(factory=list)


def compare(
    build: Build, make: Callable[[Choices], Program], seeds: Sequence[int]
) -> Tally:
    """Write a program for each seed, scan all of them, and build them."""
    tally = Tally()
    programs = [make(Choices(seed)) for seed in seeds]
    names = [f"{at}{program.suffix}" for at, program in enumerate(programs)]
    texts = {
        name: program.scanned.encode()
        for name, program in zip(names, programs, strict=True)
    }
    hits = _hits(texts)
    # What the scan refuses as a whole need not be built: nothing of it can be live.
    refused = [bool(_rules(hits, name) & _WHOLE) for name in names]
    bundles = build.bundles(programs, refused)
    for seed, name, program, bundle in zip(
        seeds, names, programs, bundles, strict=True
    ):
        if bundle is None:
            tally.refused += 1
            continue
        found = _rules(hits, name)
        missed = _missed(program, bundle, found, tally)
        if missed or (not program.expected and found - _SHAPES):
            tally.misses.append(Miss(seed, program, missed, tuple(sorted(found))))
    return tally


def _hits(texts: dict[str, bytes]) -> dict[str, list[tuple[int, str]]]:
    """Scan sources; one that the scan fails on has an error in place of hits."""
    try:
        return every_hit(texts)
    except Exception as e:  # noqa: BLE001 - it may be any
        if len(texts) == 1:
            return {name: [(1, f"{FAILED} {e!r}")] for name in texts}
    found: dict[str, list[tuple[int, str]]] = {}
    for name, text in texts.items():
        found |= _hits({name: text})
    return found


def _rules(hits: dict[str, list[tuple[int, str]]], name: str) -> set[str]:
    return {rule for _, rule in hits.get(name, ())} - _ELSEWHERE


@contextmanager
def building() -> Iterator[Build]:
    """Return a build in a directory of its own, which is removed."""
    with tempfile.TemporaryDirectory(prefix="differential-", dir=IN_MEMORY) as scratch:
        yield Build(Path(scratch) / "build")


def _missed(
    program: Program, bundle: str, found: set[str], tally: Tally
) -> tuple[str, ...]:
    missed = [rule for rule in found if rule.startswith(FAILED)]
    live = [one for one in program.expected if one.mark.search(bundle)]
    tally.live += len(live)
    missed += [
        " or ".join(sorted(one.rules)) or "any rule"
        for one in live
        if not (found & one.rules if one.rules else found)
    ]
    return tuple(missed)
