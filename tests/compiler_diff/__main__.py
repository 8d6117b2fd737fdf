"""
Compare random programs for a time: ``python -m tests.compiler_diff --seconds 3600``.

Every miss is printed.  The exit status is 1 if there is one.
"""

import argparse
import sys
import time
from typing import Final

from .comparing import building, compare
from .programs import disguised, honest

BATCH: Final = 400


def main() -> int:
    """Run the comparison the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.compiler_diff")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1_000_000)
    options = parser.parse_args()
    end, seed, misses = time.monotonic() + options.seconds, options.seed, 0
    with building() as build:
        while time.monotonic() < end:
            seeds = range(seed, seed + BATCH)
            for tally in (
                compare(build, disguised, seeds),
                compare(build, honest, seeds[: BATCH // 8]),
            ):
                misses += len(tally.misses)
                for miss in tally.misses:
                    print(miss.report, flush=True)  # noqa: T201
            seed += BATCH
    print(f"seeds {options.seed} to {seed}: {misses} misses")  # noqa: T201
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
