"""Tests for docs/walkthrough.md, and for the paths that pages and code name."""

import re
from configparser import ConfigParser
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "walkthrough.md").read_text("utf-8")


class WalkthroughTests(SynchronousTestCase):
    def test_every_module_exists(self) -> None:
        """Every path that this page or another one names is there."""
        pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        texts = {page: page.read_text("utf-8") for page in pages}
        for page, text in texts.items():
            named = set(re.findall(r"`((?:bridge|docs|tests)/[\w/.]+)`", text))
            missing = [path for path in sorted(named) if not (ROOT / path).exists()]
            self.assertEqual(missing, [], page)

    def test_every_short_name_exists(self) -> None:
        """A module that is named after its package's is a module of some package."""
        named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", TEXT))
        packages = (ROOT / package for package in ("bridge", "docs", "tests"))
        found = [
            path.as_posix() for package in packages for path in package.rglob("*.py")
        ]
        missing = [n for n in named if not any(f.endswith(f"/{n}") for f in found)]
        self.assertEqual(sorted(missing), [])

    def test_every_package_is_named(self) -> None:
        """The table has an answer in every package."""
        for path in ROOT.glob("bridge/*/__init__.py"):
            self.assertIn(f"bridge/{path.parent.name}", TEXT)

    def test_layers(self) -> None:
        """The layers are those of the contract, in which every package is."""
        config = ConfigParser(interpolation=None)
        config.read(ROOT / "setup.cfg")
        layers = config["importlinter:contract:packages"]["layers"].replace(" |", ",")
        written = re.search(r"```text\n(.*?)```", TEXT, re.DOTALL)
        self.assertEqual(written[1].strip(), layers.strip().replace("bridge.", ""))
        packages = {path.parent.name for path in ROOT.glob("bridge/*/__init__.py")}
        self.assertLessEqual(packages, set(re.findall(r"\w+", written[1])))


class RecordTests(SynchronousTestCase):
    """Tests for the decision records that code and configuration name."""

    def test_every_record_exists(self) -> None:
        """There is exactly one record of each number that is named."""
        files = [ROOT / "setup.cfg"]
        for folder in "bridge", "benchmarks", "tests":
            files += (ROOT / folder).rglob("*.py")
        texts = [path.read_text("utf-8") for path in files]
        named = {n for text in texts for n in re.findall(r"decisions/(\d{4})", text)}
        self.assertGreater(len(named), 10)
        numbers = [path.name[:4] for path in ROOT.glob("docs/decisions/0*.md")]
        self.assertEqual([n for n in sorted(named) if numbers.count(n) != 1], [])
