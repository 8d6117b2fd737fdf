"""Tests for the daemon's HTTP client."""
