"""Whether what was sampled over a long time grew."""

import statistics
from collections.abc import Sequence
from typing import Final

from attrs import frozen

SHARES: Final = {"blocks": 0.02, "heap": 0.05, "memory": 0.2}
"""
By how much each may grow.  The first two are what is in use.  What is resident is also
what the allocators keep of peaks, which are higher when abuses and a page's work meet:
it grew by 8 % next to 2 % of what is in use.
"""
COUNTS: Final = {"descriptors": 3, "threads": 2, "timers": 5}
"""By how much each may differ: what a page's own calls need for a moment."""


@frozen
class Sample:
    """
    The daemon at one moment.

    :ivar seconds: Since the soak began.
    :ivar round: In which round, from 0; the first one only warms up.
    :ivar phase: The abuse that was running, or ``""`` for none.
    :ivar settled: Whether the last abuse was over for long enough.
    :ivar memory: Resident, in MiB.
    :ivar blocks: The interpreter's allocated blocks.
    :ivar heap: What the C library has handed out, in MiB.
    :ivar p99: Of the round trips since the last sample, in milliseconds; ``None`` when
        there were none.
    """

    seconds: float
    round: int
    phase: str
    settled: bool
    memory: float
    descriptors: int
    threads: int
    timers: int
    blocks: int
    heap: float
    p99: float | None


@frozen
class Change:
    """
    The medians of one quantity.

    :ivar first: In the first third of the rounds, after the warm-up.
    :ivar last: In the last third.
    :ivar flat: Whether the difference is within the limit.
    """

    name: str
    first: float
    last: float
    flat: bool


def compare(samples: Sequence[Sample]) -> list[Change]:
    """
    Compare the settled samples of the first rounds with those of the last.

    Memory may grow by a share, and may shrink; descriptors, threads and timers may
    differ by a few either way, since fewer of them than before is a defect as well.

    :raise ValueError: There are fewer than three rounds after the warm-up, or a round
        without a settled sample.
    """
    rounds = max((sample.round for sample in samples), default=0)
    third = rounds // 3
    if third == 0:
        raise ValueError("there must be three rounds after the warm-up")
    settled: list[list[Sample]] = [[] for _ in range(rounds + 1)]
    for sample in samples:
        if sample.settled:
            settled[sample.round].append(sample)
    if not all(settled):
        raise ValueError("every round must have a settled sample")
    first = [sample for one in settled[1 : third + 1] for sample in one]
    last = [sample for one in settled[-third:] for sample in one]
    return [_change(name, first, last) for name in (*SHARES, *COUNTS)]


def _change(name: str, first: Sequence[Sample], last: Sequence[Sample]) -> Change:
    before, after = (
        statistics.median(getattr(sample, name) for sample in part)
        for part in (first, last)
    )
    if name in COUNTS:
        flat = abs(after - before) <= COUNTS[name]
    else:
        flat = after < before * (1 + SHARES[name])
    return Change(name, before, after, flat)
