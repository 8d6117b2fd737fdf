"""Tests of ``bridge.cli.managing``."""
