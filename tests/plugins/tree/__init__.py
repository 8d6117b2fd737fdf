"""Tests of ``bridge.plugins.tree``."""
