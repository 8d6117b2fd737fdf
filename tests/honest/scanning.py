"""The scan of the corpus: what is refused, and why that is expected."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ..plugins.policy.everything import every_hit
from .fetching import fetch, sources
from .packages import PACKAGES

REVIEWED: Final = Path(__file__).with_name("reviewed.txt")
UNREADABLE: Final = frozenset({"syntax error", "too complex to check"})
SMOKE_FILES: Final = 300
_AT_ONCE: Final = 100

Rules = dict[str, tuple[str, ...]]


def corpus() -> dict[str, dict[str, bytes]]:
    """Return the sources of every package, fetched if they are absent."""
    fetch()
    return {package.name: sources(package) for package in PACKAGES}


def refusals(files: Mapping[str, bytes]) -> Rules:
    """Scan sources; return the rules that those which are refused break, sorted."""
    found: Rules = {}
    for some in _batches(list(files.items())):
        hits = every_hit(dict(some))
        for name, _ in some:
            rules = {rule for _, rule in hits.get(name, ())}
            if rules:
                found[name] = tuple(sorted(rules))
    return found


def reviewed() -> dict[str, Rules]:
    """Return the refusals that were looked at, by package and file."""
    return parse_reviewed(REVIEWED.read_text("utf-8"))


def parse_reviewed(text: str) -> dict[str, Rules]:
    """Read the table: lines of package, file and rules, between tabs."""
    table: dict[str, Rules] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            package, file, rules = line.split("\t")
            table.setdefault(package, {})[file] = tuple(rules.split(", "))
    return table


def write_reviewed(table: Mapping[str, Rules]) -> str:
    """Return the lines of the table."""
    return "".join(
        f"{package}\t{file}\t{', '.join(rules)}\n"
        for package, files in sorted(table.items())
        for file, rules in sorted(files.items())
    )


def differences(package: str, files: Mapping[str, bytes], table: Rules) -> list[str]:
    """Scan sources of a package; return where the result is not the reviewed one."""
    found = refusals(files)
    wrong = []
    for name in files:
        expected, rules = table.get(name, ()), found.get(name, ())
        if rules != expected:
            wrong.append(f"{package} {name}: {rules}, not {expected}")
    return wrong


def smoke(files: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, bytes]]:
    """Choose some files of every package, always the same ones."""
    chooser = random.Random(39)  # noqa: S311 - not for secrets
    total = sum(map(len, files.values()))
    chosen = {}
    for package, own in sorted(files.items()):
        count = max(1, round(SMOKE_FILES * len(own) / total))
        names = chooser.sample(sorted(own), min(count, len(own)))
        chosen[package] = {name: own[name] for name in sorted(names)}
    return chosen


def _batches(
    files: Sequence[tuple[str, bytes]],
) -> Iterator[Sequence[tuple[str, bytes]]]:
    for at in range(0, len(files), _AT_ONCE):
        yield files[at : at + _AT_ONCE]


