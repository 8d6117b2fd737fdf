"""Tests for plugins."""
