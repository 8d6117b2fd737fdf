"""Tests of ``bridge.plugins.operations``."""
