"""Tests for bridge.osc."""
