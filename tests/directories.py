"""Directories for tests to write in."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase


def fresh_directory(test: SynchronousTestCase) -> Path:
    """Make an empty directory, mode 0700, that is gone after the test."""
    path = Path(tempfile.mkdtemp(prefix="bridge-test-"))
    test.addCleanup(shutil.rmtree, path)
    return path
