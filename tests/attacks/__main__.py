"""Runs attacks: ``python -m tests.attacks [BEGINNING ...]``; without ids, all."""

import sys

from .running import open_stand, run


def main(only: list[str]) -> None:
    """Run what is named, and print what was seen."""
    with open_stand() as stand:
        for (page, attack), seen in sorted(run(stand, only).items()):
            sys.stdout.write(f"{page} {attack}: {sorted(seen.loot)} ({seen.note})\n")


if __name__ == "__main__":
    main(sys.argv[1:])
