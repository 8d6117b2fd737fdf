"""
What attacks of a plugin take, as tables: made from ``tests/attacks/outcomes.toml``.

A test compares that file with what happens in a browser.
"""

from __future__ import annotations

from collections.abc import Iterator

from described import table

from tests.attacks.modes import MODES
from tests.attacks.outcomes import LOOT, Outcomes, read

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


def attack_modes() -> Iterator[str]:
    """The modes, as the tables name them."""
    yield table(("mode", "meaning"), ((f"`{m.name}`", m.about) for m in MODES))


def attack_families() -> Iterator[str]:
    """How many attacks of each family take something in each mode."""
    outcomes = read()
    families = {attack.partition(".")[0] for attack in outcomes}
    rows = [
        (FAMILIES[family], *_counts(_family(outcomes, family)))
        for family in sorted(families)
    ]
    yield table(
        ("family", "attacks", *(f"`{mode.name}`" for mode in MODES)),
        [*rows, ("all", *_counts(outcomes))],
    )


def _family(outcomes: Outcomes, family: str) -> Outcomes:
    return {k: about for k, about in outcomes.items() if k.startswith(f"{family}.")}


def _counts(outcomes: Outcomes) -> Iterator[str]:
    yield str(len(outcomes))
    for mode in MODES:
        yield str(sum(mode.name in about for about in outcomes.values()))


def attacks() -> Iterator[str]:
    """Every attack, and what it takes in each mode."""
    yield "# Attacks of a plugin on the page\n"
    yield (
        "Each of these attacks is a function of a plugin that was not scanned. A test "
        "runs it in Chromium, on the reference page, with a bundle that the daemon has "
        "built. It fails when an attack takes more or less than is "
        "written here. [Threats](../threats.md#a-plugin-in-the-page) counts them, and "
        "explains what each mode promises.\n"
    )
    yield from attack_modes()
    yield "What is taken:\n"
    yield table(("loot", "meaning"), ((f"`{k}`", words) for k, words in LOOT.items()))
    outcomes = read()
    for mode in MODES:
        working = {k: about for k, about in outcomes.items() if mode.name in about}
        yield f"## {mode.name}\n"
        yield f"Here {mode.about}. {_how_many(len(working), len(outcomes))}\n"
        if working:
            yield table(
                ("attack", "what it does", "loot"),
                (
                    (f"`{k}`", str(about["about"]), ", ".join(about[mode.name]))
                    for k, about in sorted(working.items())
                ),
            )


def _how_many(working: int, all_of_them: int) -> str:
    if working == 0:
        return f"None of the {all_of_them} attacks takes anything."
    if working == all_of_them:
        return f"All {all_of_them} attacks take something."
    return f"{working} of {all_of_them} attacks take something:"
