"""Tests of ``bridge.plugins.operations.underway``."""
