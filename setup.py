"""Packaging; everything declarative is in setup.cfg."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup

# What an earlier build left here would be packed, modules that are gone too.
shutil.rmtree(Path(__file__).parent / "build" / "lib", ignore_errors=True)

# find_packages cannot see twisted.plugins, which must have no __init__.py.
setup(packages=[*find_packages(include=["bridge", "bridge.*"]), "twisted.plugins"])
