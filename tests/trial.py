"""
Runs the tests under trial: ``python -m tests.trial [option of trial ...]``.

All of them but those that drive daemons and packages from outside, which pytest runs:
to those it makes no difference who asks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from twisted.scripts import trial

OUTSIDE = frozenset({"whole", "packaging"})


def modules() -> list[str]:
    """Name what trial runs, sorted."""
    here = Path(__file__).parent
    found = [path.parent.name for path in here.glob("*/__init__.py")]
    found += [path.stem for path in here.glob("test_*.py")]
    return [f"tests.{name}" for name in sorted(found) if name not in OUTSIDE]


if __name__ == "__main__":
    sys.argv += modules()
    trial.run()
