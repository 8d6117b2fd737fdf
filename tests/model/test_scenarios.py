"""The model passes a fixed walk, and finds the defects that it has to find."""

import pytest

from ..programs import python
from .scenarios import defects

WALK = "tests.model.scenarios"


def test_no_defect() -> None:
    """The daemon is as the model says."""
    done = python("-m", WALK)
    assert done.returncode == 0, done.stderr[-9000:]


@pytest.mark.parametrize("defect", sorted(defects()))
def test_defect_is_found(defect: str) -> None:
    """The walk ends where the daemon differs from the model."""
    done = python("-m", WALK, defect)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr.partition("logged:")[0], done.stderr[-9000:]
