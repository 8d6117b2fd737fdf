"""Tests for bridge.pagelog."""
