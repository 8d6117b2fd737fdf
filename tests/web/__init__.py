"""Tests for web."""
