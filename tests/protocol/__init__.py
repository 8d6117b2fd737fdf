"""Tests for protocol."""
