"""Tests of ``bridge.cli.completing``."""
