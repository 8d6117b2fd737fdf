"""The site and the manual pages, built once for all tests of a run."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from ..programs import python

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
    line = "-m", "sphinx", "-b", builder, "-q", "-W", "--keep-going"
    done = python(*line, "-d", str(scratch / "doctrees"), str(DOCS), str(to))
    assert done.returncode == 0, done.stderr
    return to


@functools.cache
def _scratch() -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="docs-"))
    atexit.register(shutil.rmtree, scratch)
    return scratch
