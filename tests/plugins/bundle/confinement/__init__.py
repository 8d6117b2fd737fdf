"""Tests for plugins alone."""
