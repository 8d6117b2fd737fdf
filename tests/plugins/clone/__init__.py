"""Tests of ``bridge.plugins.clone``."""
