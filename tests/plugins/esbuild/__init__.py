"""Tests of ``bridge.plugins.esbuild``."""
