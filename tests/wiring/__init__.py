"""Tests for bridge.wiring."""
