"""
Compare random programs for a time: ``python -m tests.differential --seconds 3600``.

Every miss is printed as a small program.  The exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from .comparing import Tally, compare, total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    started = time.monotonic()
    seeds = range(options.seed, options.seed + options.jobs)
    with ProcessPoolExecutor(options.jobs) as pool:
        tally = total(list(pool.map(partial(compare, options.seconds), seeds)))
    seconds = time.monotonic() - started
    for miss in tally.misses:
        print(miss.report)  # noqa: T201
    print(summary(tally, seconds))  # noqa: T201
    return 1 if tally.misses else 0


def summary(tally: Tally, seconds: float) -> str:
    """Return what was compared, in one line."""
    rate = tally.programs / seconds * 3600
    return (
        f"{tally.programs} programs in {seconds:.0f} s ({rate:,.0f} an hour): "
        f"{tally.refused} do not build, {tally.live} constructs live, "
        f"{tally.dead} dropped by the bundler, {len(tally.misses)} misses"
    )


if __name__ == "__main__":
    sys.exit(main())
