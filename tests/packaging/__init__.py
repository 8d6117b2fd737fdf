"""Tests of what is installed: the Debian package, the wheel and the sdist."""
