"""Runs attacks: ``python -m tests.attacks [BEGINNING ...]``; without ids, all."""

import sys

from .running import open_fixture, run


def main(only: list[str]) -> None:
    """Run what is named, and print what was seen."""
    with open_fixture() as fixture:
        for (page, attack), seen in sorted(run(fixture, only).items()):
            sys.stdout.write(f"{page} {attack}: {sorted(seen.loot)} ({seen.note})\n")


if __name__ == "__main__":
    main(sys.argv[1:])
