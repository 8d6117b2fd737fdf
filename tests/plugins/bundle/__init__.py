"""Tests of ``bridge.plugins.bundle``."""
