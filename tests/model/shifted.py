"""
``plugin-bridge`` on a clock that can be set.

``python -m tests.model.shifted FILE ...``, where ``...`` is the command line: ``FILE``
holds, as a double of this machine, by how many seconds the system's clock is
wrong; it may change at any time.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path


def shift(file: Path) -> None:
    """Set the clock of this process, before anything else has imported it."""
    real = time.time
    with file.open("rb") as opened:
        shared = mmap.mmap(opened.fileno(), 8, prot=mmap.PROT_READ)

    def shifted() -> float:
        (seconds,) = struct.unpack("d", shared[:8])
        return real() + float(seconds)

    time.time = shifted


if __name__ == "__main__":
    shift(Path(sys.argv[1]))
    from bridge.cli.main import main

    sys.exit(main(sys.argv[2:], program="plugin-bridge"))
