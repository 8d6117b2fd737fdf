"""The programs of the system that tests run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]


def program(name: str, package: str, *elsewhere: str) -> str:
    """Find a program of the system; an ``AssertionError`` has the fix."""
    found = shutil.which(name)
    for path in elsewhere:
        found = found or shutil.which(path)
    assert found is not None, f"{name} is missing: apt-get install {package}"
    return found


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """
    Run Python in the folder of the project to its end; what it covers is not measured.

    :param variables: Of its environment, besides our own.
    """
    own = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**own, **variables},
    )
