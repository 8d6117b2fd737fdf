"""Tests for bridge.sinks."""
