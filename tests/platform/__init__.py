"""Tests for bridge.platform."""
