"""The model passes a fixed walk, and finds the defects that it has to find."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ..whole.daemon import ROOT
from .scenarios import defects


def walk(*defect: str) -> subprocess.CompletedProcess[str]:
    """Walk in a process without threads, because it forks."""
    return subprocess.run(
        [sys.executable, "-m", "tests.model.scenarios", *defect],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_no_defect() -> None:
    """The daemon is as the model says."""
    done = walk()
    assert done.returncode == 0, done.stderr[-9000:]


@pytest.mark.parametrize("defect", sorted(defects()))
def test_defect_is_found(defect: str) -> None:
    """The walk ends where the daemon differs from the model."""
    done = walk(defect)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr.partition("logged:")[0], done.stderr[-9000:]
