"""Tests for the reference host, the small page that ships with the bridge."""
