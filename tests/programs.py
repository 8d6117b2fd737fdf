"""The programs of the system that tests run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]


def program(name: str, package: str, *elsewhere: str) -> str:
    """Find a program of the system; an ``AssertionError`` has the fix."""
    found = shutil.which(name)
    for path in elsewhere:
        found = found or shutil.which(path)
    assert found is not None, f"{name} is missing: apt-get install {package}"
    return found


def run(*command: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with what it prints as text."""
    how.setdefault("check", False)
    return subprocess.run(command, capture_output=True, text=True, **how)  # noqa: PLW1510


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """
    Run Python in the folder of the project to its end; what it covers is not measured.

    :param variables: Of its environment, besides our own.
    """
    own = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    return run(sys.executable, *arguments, cwd=ROOT, env={**own, **variables})
