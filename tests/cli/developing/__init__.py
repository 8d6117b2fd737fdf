"""Tests of ``bridge.cli.developing``."""
