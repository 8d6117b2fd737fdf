"""The model, with the seeds that are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..whole.daemon import ROOT

SEEDS = Path(__file__).with_name("seeds.txt")


def run(*options: str) -> None:
    """Run the model in a process without threads, because it forks."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.model", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        # A process that is killed could not write down what it has covered.
        env={k: v for k, v in os.environ.items() if not k.startswith("COV")},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-9000:]


@pytest.mark.parametrize(
    "line", [x for x in SEEDS.read_text("ascii").splitlines() if not x.startswith("#")]
)
def test_simulated_daemon(line: str) -> None:
    """Whatever pages ask and disks do, the daemon has what it has acknowledged."""
    examples, steps, seed = line.split()
    run(f"--examples={examples}", f"--steps={steps}", f"--seed={seed}")
