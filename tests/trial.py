"""
Runs the tests under trial: ``python -m tests.trial [option ...] [module ...]``.

Without a module, all of them except those that only pytest runs. As under pytest, what
is raised where nobody can catch it fails the run; ``python -W error`` makes warnings
fail their test.
"""

import faulthandler
import gc
import sys
import threading
from pathlib import Path
from typing import Any

from twisted.scripts import trial

# Drives daemons, commands and packages from outside, or has tests run by hand only.
BY_PYTEST = frozenset(
    {
        *("attacks", "clients", "differential", "docs", "honest", "model"),
        *("packaging", "whole"),
    }
)

# Several times what all of it takes.
HANGS_SECONDS = 1500


def modules() -> list[str]:
    """Name what trial runs, sorted."""
    here = Path(__file__).parent
    found = [path.parent.name for path in here.glob("*/__init__.py")]
    found += [path.stem for path in here.glob("test_*.py")]
    return [f"tests.{name}" for name in sorted(found) if name not in BY_PYTEST]


def main() -> None:
    """Run trial, and exit with its status, or with 1 for what was not caught."""
    uncaught: list[str] = []

    def unraisable(unraised: Any) -> None:
        uncaught.append(repr(unraised.exc_value))
        sys.__unraisablehook__(unraised)

    def in_a_thread(raised: Any) -> None:
        uncaught.append(repr(raised.exc_value))
        threading.__excepthook__(raised)

    sys.unraisablehook = unraisable
    threading.excepthook = in_a_thread
    if not any(argument.startswith("tests.") for argument in sys.argv[1:]):
        sys.argv += modules()
    # A test that hangs ends the run, which prints where.
    faulthandler.dump_traceback_later(HANGS_SECONDS, exit=True)
    try:
        trial.run()
    finally:
        # Files and sockets that nobody closed warn when they are collected.
        gc.collect()
        if uncaught:
            sys.stderr.write("\n  ".join(["Not caught:", *uncaught, ""]))
            sys.exit(1)


if __name__ == "__main__":
    main()
