"""The site and the manual pages, built once for all tests of a run."""

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


@functools.cache
def built(builder: str) -> Path:
    """
    Build the docs; gives the directory.

    :param builder: Sphinx's: ``html`` or ``man``.
    :raise AssertionError: Sphinx warns of something.
    """
    scratch = _scratch()
    to = scratch / builder
    line = [sys.executable, "-m", "sphinx", "-b", builder, "-q", "-W", "--keep-going"]
    done = subprocess.run(
        [*line, "-d", scratch / "doctrees", DOCS, to],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return to


@functools.cache
def _scratch() -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="docs-"))
    atexit.register(shutil.rmtree, scratch)
    return scratch
