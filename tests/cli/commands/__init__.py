"""Tests of ``bridge.cli.commands``."""
