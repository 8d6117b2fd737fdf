"""Tests for ``bridge.desktop``."""
