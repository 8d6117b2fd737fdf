"""Tests for bridge.parts."""
