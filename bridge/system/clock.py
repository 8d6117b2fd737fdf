"""The clock that delays are measured by, which is not the time of day."""

from __future__ import annotations

import time
from typing import Any


def measure_steadily(reactor: Any) -> None:
    """
    Have a reactor measure time by a clock that is never set.

    Twisted takes the time of day.  A computer whose other system keeps local time in
    its clock is set back by hours when it finds the network; every timer would be late
    by as much, the supervisor's sign of life among them, and the daemon be killed.

    Call it before anything is delayed.
    """
    reactor.seconds = time.monotonic
