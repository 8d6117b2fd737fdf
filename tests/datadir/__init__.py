"""Tests of ``bridge.datadir``."""
