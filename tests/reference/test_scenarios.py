"""The page and the kit of plugins without a browser: scenarios, run in Node.js."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT, esbuild, modules, run_node

RUN_SECONDS: Final = 60.0
API: Final = "bridge/reference/packages/api/src/index.ts"


class ScenarioTests(SynchronousTestCase):
    """Tests for what the page does, in the files ``*_scenarios.ts``."""

    def test_scenarios(self) -> None:
        """Each scenario holds; one that does not is shown with what went wrong."""
        with TemporaryDirectory() as scratch:
            code = Path(scratch) / "scenarios.mjs"
            subprocess.run(
                [
                    str(esbuild()),
                    "tests/reference/scenarios.ts",
                    "--bundle",
                    "--format=esm",
                    "--target=es2022",
                    "--tsconfig-raw={}",
                    "--platform=node",
                    f"--alias:@bridge/plugin-api=./{API}",
                    f"--outfile={code}",
                    "--log-level=warning",
                ],
                cwd=ROOT,
                env={**os.environ, "NODE_PATH": str(modules())},
                check=True,
                timeout=RUN_SECONDS,
            )
            outcomes = json.loads(run_node(code))
        self.assertGreater(len(outcomes), 100)
        failed = [f"{name}: {why}" for name, why in outcomes.items() if why]
        self.assertEqual(failed, [])
