"""Tests of ``bridge.plugins.dev``."""
