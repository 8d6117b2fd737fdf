"""The attacks of plugins, as tables: made from their sources in ``tests/attacks``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from described import table

from tests.attacks.corpus import attacks as known_attacks
from tests.attacks.greedy import about

FAMILIES = {
    "elements": "an element of the page leads further, or loads something",
    "errors": "the classes of errors, and traces",
    "evaluation": "text, modules and workers that are evaluated",
    "functions": "a function's `constructor`, which evaluates text",
    "handles": "what all scripts share is replaced, to get elements of the host's",
    "intrinsics": "what all scripts share is replaced or read",
    "names": "the page's names",
    "navigation": "the page is left, or its address changed",
    "requests": "the browser's ways to send requests",
    "timers": "timers: text, `this`, and those of others",
}


def attack_families() -> Iterator[str]:
    """How many attacks each family has."""
    counts = Counter(attack.family for attack in known_attacks())
    rows = [(FAMILIES[family], str(many)) for family, many in sorted(counts.items())]
    yield table(("family", "attacks"), [*rows, ("all", str(counts.total()))])


def attacks() -> Iterator[str]:
    """Every attack, and every greedy plugin."""
    yield "# Attacks of plugins\n"
    yield (
        "Tests run all of these in Chromium, on the reference page, with plugins that "
        "were not scanned. [Threats](../threats.md#a-plugin-in-the-page) explains "
        "what holds.\n"
    )
    yield "## What is tried to take\n"
    yield "None of these takes anything, on a page without a policy either.\n"
    found = known_attacks()
    yield table(
        ("attack", "what it does"), ((f"`{one.id}`", one.about) for one in found)
    )
    yield "## What is tried to make others lose\n"
    yield "Next to all of these, an honest plugin and the user lose nothing.\n"
    yield table(
        ("plugin", "what it does"), ((f"`{k}`", words) for k, words in about().items())
    )
