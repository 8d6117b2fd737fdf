"""The model, with the seeds that are kept; without threads around it: it forks."""

from pathlib import Path

import pytest

from ..programs import python

SEEDS = Path(__file__).with_name("seeds.txt")


@pytest.mark.parametrize(
    "line", [x for x in SEEDS.read_text("ascii").splitlines() if not x.startswith("#")]
)
def test_simulated_daemon(line: str) -> None:
    """Whatever pages ask and disks do, the daemon has what it has acknowledged."""
    examples, steps, seed = line.split()
    options = f"--examples={examples}", f"--steps={steps}", f"--seed={seed}"
    done = python("-m", "tests.model", *options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-9000:]
