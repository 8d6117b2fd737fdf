"""Tests of ``bridge.plugins.policy.rules``."""
