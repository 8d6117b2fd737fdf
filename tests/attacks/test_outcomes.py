"""Every attack, in every mode, in a real browser: what each takes is written."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from twisted.trial.unittest import SynchronousTestCase

from . import outcomes
from .corpus import ATTACKER, attacks
from .modes import MODES
from .outcomes import LOOT, Outcomes
from .running import run

FEWEST = 150


def taken(found: Outcomes) -> set[str]:
    """List what was taken: one line for each attack, mode and kind of loot."""
    return {
        f"{attack} in {mode.name}: {loot}"
        for attack, about in found.items()
        for mode in MODES
        for loot in about.get(mode.name, ())
    }


class CorpusTests(SynchronousTestCase):
    """Tests for the attacks, and for the file of what they took."""

    def test_attacks(self) -> None:
        """There are enough of them, in families, each with a sentence of its own."""
        found = attacks()
        self.assertGreaterEqual(len(found), FEWEST)
        self.assertGreaterEqual(min(Counter(a.family for a in found).values()), 2)
        self.assertEqual(len({a.about for a in found}), len(found))

    def test_exported(self) -> None:
        """Whatever a family exports is an attack, and the plugin has every family."""
        main = (ATTACKER / "main.ts").read_text("utf-8")
        found = Counter(attack.family for attack in attacks())
        for path in ATTACKER.glob("*.js"):
            exported = re.findall(r"(?m)^export ", path.read_text("utf-8"))
            self.assertEqual(len(exported), found[path.stem], path.name)
            self.assertIn(f"\n  {path.stem},\n", main)

    def test_written(self) -> None:
        """The file is as it would be written, and has every attack."""
        held = outcomes.read()
        self.assertEqual(outcomes.text(held), outcomes.FILE.read_text("utf-8"))
        self.assertEqual(
            {attack: about["about"] for attack, about in held.items()},
            {attack.id: attack.about for attack in attacks()},
        )
        for attack, about in held.items():
            for mode in MODES:
                loot = set(about.get(mode.name, ()))
                self.assertLessEqual(loot, LOOT.keys(), attack)

    def test_each_works(self) -> None:
        """What takes nothing in any mode would prove nothing in the others."""
        for attack, about in outcomes.read().items():
            self.assertTrue(about.keys() - {"about"}, attack)


@pytest.mark.whole
class OutcomesTests(SynchronousTestCase):
    """Tests for what the attacks take."""

    def test_attack_every_way(self) -> None:
        """
        Each takes what ``outcomes.toml`` has, in each mode.

        When something more is stopped, run ``python -m tests.attacks`` and commit the
        file.  When something less is, that is a hole.
        """
        found, _ = run()
        now, held = taken(found), taken(outcomes.read())
        self.assertEqual(sorted(now - held), [], "taken, and not written")
        self.assertEqual(sorted(held - now), [], "written, and not taken")
