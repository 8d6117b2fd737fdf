"""
The comparisons: ``python -m benchmarks [NAME ...]``.

Each is measured in rounds, in turns with its peer; the best round of both counts, since
whatever else the machine does only adds to a time.  Prints a table, after some minutes.
"""

import gc
import sys
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from bridge.system.processes import map_large_blocks

from . import clone, idle, outbound, rebuild, sql, start, state
from .table import as_text

COMPARISONS: Final = {
    "start": start.rows,
    "idle": idle.rows,
    "rebuild": rebuild.rows,
    "clone": clone.rows,
    "state": state.rows,
    "sql": sql.rows,
    "outbound": outbound.rows,
}
"""By name; the first two measure processes, the others are measured in this one."""


async def compare(reactor: Any, names: list[str]) -> None:
    """Measure, and print the table."""
    # As the daemon does: the C library keeps to its rules for memory, and, when all is
    # loaded, collections look at nothing of this.
    map_large_blocks()
    gc.collect()
    gc.freeze()
    rows = [row for name in names for row in await COMPARISONS[name](reactor)]
    print(as_text(rows))


def main() -> None:
    """Measure what the command line names; everything when it names nothing."""
    names = sys.argv[1:] or list(COMPARISONS)
    if unknown := set(names) - COMPARISONS.keys():
        sys.exit(
            f"there is no {', '.join(unknown)}; there are {', '.join(COMPARISONS)}"
        )
    react(lambda reactor: Deferred.fromCoroutine(compare(reactor, names)))


if __name__ == "__main__":
    main()
