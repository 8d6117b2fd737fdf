"""
Runs the attacks: ``python -m tests.attacks [--mode=MODE ...] [BEGINNING ...]``.

Without arguments, all of them run, and the file of outcomes is written. With beginnings
of ids or with modes, only those run, and what was seen of each is printed.
"""

from __future__ import annotations

import sys

from .outcomes import FILE, text
from .running import run


def main(arguments: list[str]) -> None:
    """Run what is named."""
    option = "--mode="
    modes = [a.removeprefix(option) for a in arguments if a.startswith(option)]
    only = [a for a in arguments if not a.startswith(option)]
    outcomes, seen = run(only, modes)
    if not arguments:
        FILE.write_text(text(outcomes), "utf-8")
        return
    for (mode, attack), one in sorted(seen.items()):
        taken = outcomes.get(attack, {}).get(mode, [])
        changed = ", ".join(sorted(one.changes)[:3])
        sys.stdout.write(f"{mode} {attack}: {taken} ({one.note}) {changed}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
