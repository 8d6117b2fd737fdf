"""Tests for bridge.system."""
