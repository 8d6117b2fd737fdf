"""Tests for ``bridge.freedesktop``."""
