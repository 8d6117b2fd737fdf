"""The model, with the seeds that are kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..whole.daemon import ROOT

SEEDS = Path(__file__).with_name("seeds.txt")


def run(module: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the model in a process without threads, because it forks."""
    return subprocess.run(
        [sys.executable, "-m", module, *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        # A process that is killed could not write down what it has covered.
        env={k: v for k, v in os.environ.items() if not k.startswith("COV")},
    )


@pytest.mark.parametrize(
    "line", [x for x in SEEDS.read_text("ascii").splitlines() if not x.startswith("#")]
)
def test_simulated_daemon(line: str) -> None:
    """Whatever pages ask and disks do, the daemon has what it has acknowledged."""
    examples, steps, seed = line.split()
    options = f"--examples={examples}", f"--steps={steps}", f"--seed={seed}"
    done = run("tests.model", *options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-9000:]
