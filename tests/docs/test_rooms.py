"""Tests for docs/rooms.py and docs/walkthrough.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


class MapTests(SynchronousTestCase):
    """Tests for the map of the rooms."""

    def drawn(self) -> dict[str, Any]:
        """Run the script as far as it runs when it is imported."""
        self.patch(sys, "path", [str(DOCS), *sys.path])
        return run_path(str(DOCS / "rooms.py"))

    def test_every_room_has_a_layer(self) -> None:
        """Every package of the daemon is in the first contract, except the data."""
        first = next(self.drawn()["contracts"]())
        layered = {room.name for row in first.rows for room in row}
        packages = {
            f"bridge.{path.parent.name}" for path in ROOT.glob("bridge/*/__init__.py")
        }
        self.assertEqual(layered, packages | {"bridge.classes", "bridge.tap"})

    def test_rows(self) -> None:
        """Rooms side by side share a row; a row is as wide as any other."""
        drawn = self.drawn()
        config = self.mktemp()
        Path(config).write_text(
            "[importlinter:contract:x]\nname = X\ntype = layers\nlayers =\n"
            "    bridge.tap\n    bridge.store | bridge.net\n"
        )
        [layers] = drawn["contracts"](Path(config))
        lines = drawn["drawing"](layers).splitlines()
        self.assertEqual(len({len(line) for line in lines}), 1)
        self.assertEqual(lines[1].split(), ["|", "tap", "(1)", "|"])
        self.assertRegex(lines[3], r"^\| +store \(\d\) +\| +net \(\d\) +\|$")
        middle = lines[3].index("|", 1)
        borders = [line[middle] for line in lines[::2]]
        self.assertEqual(borders, ["-", "+", "+"])


class WalkthroughTests(SynchronousTestCase):
    """Tests for the walkthrough."""

    def test_every_module_exists(self) -> None:
        """Every path that the page names is there."""
        text = (DOCS / "walkthrough.md").read_text("utf-8")
        named = set(re.findall(r"`((?:bridge|docs)/[\w/.]+)`", text))
        self.assertGreater(len(named), 30)
        missing = [path for path in sorted(named) if not (ROOT / path).exists()]
        self.assertEqual(missing, [])

    def test_every_short_name_exists(self) -> None:
        """A module that is named after its room's is a module of some room."""
        text = (DOCS / "walkthrough.md").read_text("utf-8")
        named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))
        rooms = (ROOT / room for room in ("bridge", "docs", "tests"))
        found = [path.as_posix() for room in rooms for path in room.rglob("*.py")]
        missing = [n for n in named if not any(f.endswith(f"/{n}") for f in found)]
        self.assertEqual(sorted(missing), [])

    def test_every_room_is_named(self) -> None:
        """The table has an answer in every room."""
        text = (DOCS / "walkthrough.md").read_text("utf-8")
        for path in ROOT.glob("bridge/*/__init__.py"):
            room = f"bridge/{path.parent.name}"
            self.assertIn(room, text)
