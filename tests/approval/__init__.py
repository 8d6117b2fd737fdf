"""Tests for ``bridge.approval``."""
