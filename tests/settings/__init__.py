"""Tests of ``bridge.settings``."""
