"""Tests for the source policy."""
