"""The programs of the system that tests run."""

import shutil


def program(name: str, package: str, *elsewhere: str) -> str:
    """Find a program of the system; an ``AssertionError`` has the fix."""
    found = shutil.which(name)
    for path in elsewhere:
        found = found or shutil.which(path)
    assert found is not None, f"{name} is missing: apt-get install {package}"
    return found
