"""Tests of ``bridge.plugins.clone.objects``."""
