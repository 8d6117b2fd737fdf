"""Tests of ``bridge.cli.diagnosis``."""
