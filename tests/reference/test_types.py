"""The TypeScript of the reference host, the API and the sample plugin is sound."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ..npm import tsc
from .bundling import REFERENCE


class TypeTests(SynchronousTestCase):
    """What the compiler prints."""

    def test_sources(self) -> None:
        """The host, the API and the sample plugin pass the strict compiler."""
        run = tsc(REFERENCE / "tsconfig.json")
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_scenarios(self) -> None:
        """So do the scenarios the tests next to this one run."""
        run = tsc(Path(__file__).with_name("tsconfig.json"))
        self.assertEqual((run.returncode, run.stdout), (0, ""))
