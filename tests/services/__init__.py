"""Tests for services."""
