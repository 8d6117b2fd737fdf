"""Tests of ``bridge.cli.asking``."""
