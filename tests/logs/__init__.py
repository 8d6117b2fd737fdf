"""Tests for bridge.logs."""
