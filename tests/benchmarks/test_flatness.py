from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.flatness import COUNTS, Sample, compare

STEADY = Sample(
    seconds=0.0,
    round=0,
    phase="",
    settled=True,
    memory=100.0,
    descriptors=20,
    threads=12,
    timers=5,
    blocks=500_000,
    heap=20.0,
    p99=2.0,
)


def soak(rounds: int, change: Callable[[int], dict[str, Any]]) -> list[Sample]:
    """
    Make the samples of a soak: in each round two next to an abuse, three settled ones.

    :param change: From the round's number to what differs in its settled samples.
    """
    found = []
    for number in range(rounds):
        abused = evolve(
            STEADY, round=number, phase="x", settled=False, memory=900.0 + number
        )
        settled = evolve(STEADY, round=number, **change(number))
        found += [abused] * 2 + [settled] * 3
    return found


def growing(name: str, step: float, number: int) -> dict[str, Any]:
    """Return what a quantity that grows by ``step`` each round is in one of them."""
    return {name: getattr(STEADY, name) + step * number}


class CompareTests(SynchronousTestCase):
    def uneven(self, samples: list[Sample]) -> set[str]:
        """Return the names of what is not flat."""
        return {change.name for change in compare(samples) if not change.flat}

    def test_steady(self) -> None:
        """What does not change is flat, and everything is compared."""
        names = {change.name for change in compare(soak(4, lambda _: {}))}
        self.assertEqual(names, {"memory", "blocks", "heap", *COUNTS})
        self.assertEqual(self.uneven(soak(4, lambda _: {})), set())

    def test_growth(self) -> None:
        """More than its share of memory is a leak, and one of anything else."""
        for name, leak, steps in (
            ("blocks", 2000, (1000, -5000)),
            ("heap", 0.2, (0.14, -1.0)),
            ("memory", 4.0, (3.0, -5.0)),
            *((name, 1, ()) for name in COUNTS),
        ):
            for step in (leak, *steps):
                found = self.uneven(soak(10, partial(growing, name, step)))
                self.assertEqual(found, {name} if step == leak else set(), step)

    def test_what_counts(self) -> None:
        """What is no more is not flat; the first round and an outlier don't count."""
        fewer = soak(4, lambda n: {"timers": 30 if n < 2 else 5})
        self.assertEqual(self.uneven(fewer), {"timers"})
        samples = soak(4, lambda n: {"memory": 50.0} if n == 0 else {})
        samples[-1] = evolve(samples[-1], memory=300.0, descriptors=60)
        self.assertEqual(self.uneven(samples), set())

    def test_not_enough(self) -> None:
        """There must be three rounds after the first, each sampled at rest."""
        steady = soak(4, lambda _: {})
        unsettled = [one for one in steady if (one.round, one.settled) != (2, True)]
        for samples in (unsettled, *(steady[: rounds * 5] for rounds in (0, 1, 3))):
            self.assertRaises(ValueError, compare, samples)
