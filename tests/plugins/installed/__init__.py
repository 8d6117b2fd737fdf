"""Tests of ``bridge.plugins.installed``."""
