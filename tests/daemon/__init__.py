"""Tests of ``bridge.daemon``."""
