"""Tests for bridge.databases."""
