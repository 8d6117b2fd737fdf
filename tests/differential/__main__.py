"""
Compare random programs for a time: ``python -m tests.differential --seconds 3600``.

Every miss is printed as a small program, and every five minutes what was compared so
far.  The exit status is 1 if there is a miss.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

from .comparing import Tally, compare, in_turn, total

ROUND: Final = 300.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    tallies: list[Tally] = []
    left, seed = options.seconds, options.seed
    with ProcessPoolExecutor(options.jobs) as pool:
        while left > 0:
            seeds = range(seed, seed + options.jobs)
            run = total(list(pool.map(partial(compare, min(left, ROUND)), seeds)))
            for miss in run.misses:
                print(miss.report)  # noqa: T201
            tallies.append(run)
            left, seed = left - run.seconds, seed + options.jobs
            print(summary(in_turn(tallies)), flush=True)  # noqa: T201
    return 1 if any(tally.misses for tally in tallies) else 0


def summary(tally: Tally) -> str:
    """Return what was compared, in one line."""
    rate = tally.programs / tally.seconds * 3600
    return (
        f"{tally.programs} programs in {tally.seconds:.0f} s ({rate:,.0f} an hour): "
        f"{tally.refused} do not build, {tally.live} constructs live, "
        f"{tally.dead} dropped by the bundler, {len(tally.misses)} misses"
    )


if __name__ == "__main__":
    sys.exit(main())
