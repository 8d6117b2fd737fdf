"""Tests for bridge.store."""
