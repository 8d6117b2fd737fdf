"""The scan of the corpus: what is refused, and why that is expected."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Final

from ..plugins.policy.scanning import every_hit
from .fetching import PACKAGES, fetch, sources

REVIEWED: Final = Path(__file__).with_name("reviewed.txt")
UNREADABLE: Final = frozenset({"syntax error", "too complex to check"})
SMOKE_STEP: Final = 16
_AT_ONCE: Final = 100
_WIDTH: Final = 120

HEADING: Final = """\
# What the scan refuses of the corpus: by package, rules and files; read by hand.
# Written by python -m tests.corpus.review
"""

Rules = dict[str, tuple[str, ...]]


def corpus() -> dict[str, dict[str, bytes]]:
    """Return the sources of every package, fetched if they are absent."""
    fetch()
    return {package.name: sources(package) for package in PACKAGES}


def every_refusal(files: Mapping[str, bytes]) -> dict[str, list[tuple[int, str]]]:
    """Scan sources; return the lines and rules of those that are refused."""
    found: dict[str, list[tuple[int, str]]] = {}
    names = list(files)
    for at in range(0, len(names), _AT_ONCE):
        found |= every_hit({name: files[name] for name in names[at : at + _AT_ONCE]})
    return found


def rules_of(hits: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Return the rules of hits, each once, sorted."""
    return tuple(sorted({rule for _, rule in hits}))


def reviewed() -> dict[str, Rules]:
    """Return the refusals that were looked at, by package and file."""
    table: dict[str, Rules] = {}
    own: Rules = {}
    for line in REVIEWED.read_text("utf-8").splitlines():
        if line.startswith("  "):
            rules, names = line.strip().split(": ")
            own |= dict.fromkeys(names.split(), tuple(rules.split(", ")))
        elif not line.startswith("#"):
            own = table.setdefault(line, {})
    return table


def write_reviewed(table: Mapping[str, Rules]) -> str:
    """Return the lines of the table."""
    lines = []
    for package, files in sorted(table.items()):
        lines.append(package)
        for rules in sorted(set(files.values())):
            names = sorted(name for name in files if files[name] == rules)
            head = f"  {', '.join(rules)}: "
            lines += wrap(
                " ".join(names),
                _WIDTH,
                initial_indent=head,
                subsequent_indent=head,
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "".join(f"{line}\n" for line in lines)


def differences(package: str, files: Mapping[str, bytes], table: Rules) -> list[str]:
    """Scan sources of a package; return where the result is not the reviewed one."""
    hits = every_refusal(files)
    found = {name: rules_of(own) for name, own in hits.items()}
    wrong = []
    for name in files:
        expected, rules = table.get(name, ()), found.get(name, ())
        if rules != expected:
            wrong.append(f"{package} {name}: {rules}, not {expected}")
    return wrong


def smoke(files: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, bytes]]:
    """Choose some files of every package: each of so many, and the first."""
    return {
        package: {name: own[name] for name in sorted(own)[::SMOKE_STEP]}
        for package, own in files.items()
    }
