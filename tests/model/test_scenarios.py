"""The model passes a fixed walk, and finds the defects that it has to find."""

import pytest

from .scenarios import defects
from .test_model import run

WALK = "tests.model.scenarios"


def test_no_defect() -> None:
    """The daemon is as the model says."""
    done = run(WALK)
    assert done.returncode == 0, done.stderr[-9000:]


@pytest.mark.parametrize("defect", sorted(defects()))
def test_defect_is_found(defect: str) -> None:
    """The walk ends where the daemon differs from the model."""
    done = run(WALK, defect)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr.partition("logged:")[0], done.stderr[-9000:]
