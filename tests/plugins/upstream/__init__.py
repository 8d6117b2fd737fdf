"""Tests of ``bridge.plugins.upstream``."""
