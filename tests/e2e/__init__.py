"""Tests for whole."""
