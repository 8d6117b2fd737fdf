"""Packaging; everything declarative is in setup.cfg."""

from setuptools import find_packages, setup

# find_packages cannot see twisted.plugins, which must have no __init__.py.
setup(packages=[*find_packages(include=["bridge", "bridge.*"]), "twisted.plugins"])
