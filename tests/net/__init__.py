"""Tests of ``bridge.net``."""
