"""``plugin-bridge run``: ``twistd -n bridge`` under a friendlier name."""

from __future__ import annotations

import sys

from twisted.scripts import twistd


def main(arguments: list[str]) -> int:
    """Run the daemon until it is stopped."""
    # A foreground daemon needs no file to find its process by.
    sys.argv = ["twistd", "--nodaemon", "--pidfile=", "bridge", *arguments]
    twistd.run()
    return 0
