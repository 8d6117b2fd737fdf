"""The ``plugin-bridge`` command, and ``python -m bridge``."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command; Ctrl-C ends it quietly, even while it is being imported."""
    try:
        from .cli import main as command

        return command.main()
    except KeyboardInterrupt:
        from .cli import INTERRUPTED

        sys.stderr.write("\n")
        return INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
