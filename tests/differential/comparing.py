"""Compare what the scan finds with what is live in the real bundle."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import define, evolve, field, frozen

from bridge.plugins.policy.rules.table import UNKNOWN

from ..plugins.policy.scanning import every_hit
from .building import Build
from .choices import Choices, smallest
from .programs import Program, disguised, honest

BATCH: Final = 400
# Hundreds of small files are written and removed a second.
_MEMORY: Final = next(filter(os.path.isdir, ["/dev/shm"]), None)  # noqa: S108
_ATTEMPTS: Final = 150
_SHOWN: Final = 12
FAILED: Final = "the scan fails:"
_WHOLE: Final = frozenset({"syntax error", "minified", "packed source"})
_SHAPES: Final = frozenset({"invisible characters", "escape sequences", "minified"})
# The programs are parts of plugins: something else declares their names.
_ELSEWHERE: Final = frozenset({UNKNOWN})


@frozen
class Miss:
    """
    A program the scan is wrong about.

    :ivar seed: Of the program, before it was made smaller.
    :ivar missed: What is live and was not found; empty if it is honest and refused.
    :ivar found: The rules that were reported.
    """

    seed: int
    program: Program
    missed: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def report(self) -> str:
        """What is wrong, and the program."""
        wrong = (
            f"live, not found: {', '.join(self.missed)}" if self.missed else "honest"
        )
        head = f"==== seed {self.seed} {self.program.suffix} | {wrong}"
        return f"{head} | reported: {', '.join(self.found)}\n{self.program.scanned}\n"


@define
class Tally:
    """
    What was compared so far.

    :ivar programs: How many programs.
    :ivar refused: How many of them the scan or the build refuses as a whole.
    :ivar live: How many listed constructs the bundles hold.
    :ivar dead: How many they do not.
    :ivar seconds: How long it took.
    """

    programs: int = 0
    refused: int = 0
    live: int = 0
    dead: int = 0
    seconds: float = 0.0
    misses: list[Miss] = field(factory=list)


@define
class Comparison:
    """Compares programs, many at once."""

    _build: Build
    tally: Tally = field(factory=Tally)

    def disguised(self, seeds: Sequence[int]) -> None:
        """Compare programs with listed constructs."""
        self._note(seeds, [disguised(Choices(seed)) for seed in seeds])

    def honest(self, seeds: Sequence[int]) -> None:
        """Compare programs without any."""
        self._note(seeds, [honest(Choices(seed)) for seed in seeds])

    def smaller(self, miss: Miss) -> Miss:
        """Make the program of a miss smaller."""
        make = disguised if miss.missed else honest

        def misses(choices: list[int]) -> list[Miss]:
            program = make(Choices(0, choices))
            found = self._compare([miss.seed], [program])
            return [one for one in found if bool(one.missed) == bool(miss.missed)]

        least = smallest(
            miss.program.choices, lambda choices: bool(misses(choices)), _ATTEMPTS
        )
        return next(iter(misses(least)), miss)

    def _note(self, seeds: Sequence[int], programs: Sequence[Program]) -> None:
        self.tally.programs += len(programs)
        self.tally.misses += self._compare(seeds, programs, self.tally)

    def _compare(
        self,
        seeds: Sequence[int],
        programs: Sequence[Program],
        tally: Tally | None = None,
    ) -> list[Miss]:
        tally = tally or Tally()
        names = [f"{at}{program.suffix}" for at, program in enumerate(programs)]
        texts = {
            name: program.scanned.encode()
            for name, program in zip(names, programs, strict=True)
        }
        hits = _hits(texts)
        # What the scan refuses as a whole need not be built: nothing of it can be live.
        refused = [bool(_rules(hits, name) & _WHOLE) for name in names]
        bundles = self._build.bundles(programs, refused)
        misses = []
        for seed, name, program, bundle in zip(
            seeds, names, programs, bundles, strict=True
        ):
            if bundle is None:
                tally.refused += 1
                continue
            found = _rules(hits, name)
            missed = _missed(program, bundle, found, tally)
            if missed or (not program.expected and found - _SHAPES):
                misses.append(Miss(seed, program, missed, tuple(sorted(found))))
        return misses


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
def comparison() -> Iterator[Comparison]:
    """Return a comparison in a directory of its own, which is removed."""
    with tempfile.TemporaryDirectory(prefix="differential-", dir=_MEMORY) as scratch:
        yield Comparison(Build(Path(scratch) / "build"))


def _missed(
    program: Program, bundle: str, found: set[str], tally: Tally
) -> tuple[str, ...]:
    missed = [rule for rule in found if rule.startswith(FAILED)]
    for one in program.expected:
        if one.mark.search(bundle) is None:
            tally.dead += 1
            continue
        tally.live += 1
        if not (found & one.rules if one.rules else found):
            missed.append(" or ".join(sorted(one.rules)) or "any rule")
    return tuple(missed)


def in_turn(tallies: Sequence[Tally]) -> Tally:
    """Add tallies up that followed one another."""
    seconds = sum(one.seconds for one in tallies)
    return evolve(total(tallies), seconds=seconds)


def total(tallies: Sequence[Tally]) -> Tally:
    """Add tallies up that ran at the same time."""
    return evolve(
        Tally(),
        programs=sum(one.programs for one in tallies),
        refused=sum(one.refused for one in tallies),
        live=sum(one.live for one in tallies),
        dead=sum(one.dead for one in tallies),
        seconds=max(one.seconds for one in tallies),
        misses=[miss for one in tallies for miss in one.misses],
    )


def compare(seconds: float, seed: int) -> Tally:
    """Compare programs for a time; of misses, the first ones are made smaller."""
    started = time.monotonic()
    end = started + seconds
    first = seed * 1_000_000_000
    with comparison() as comparing:
        while time.monotonic() < end:
            seeds = range(first, first + BATCH)
            comparing.disguised(seeds)
            comparing.honest(seeds[: BATCH // 8])
            first += BATCH
        tally = comparing.tally
        tally.seconds = time.monotonic() - started
        # A kind of miss comes up again and again: some of each are enough.
        tally.misses[:_SHOWN] = [
            comparing.smaller(one) for one in tally.misses[:_SHOWN]
        ]
    return tally
