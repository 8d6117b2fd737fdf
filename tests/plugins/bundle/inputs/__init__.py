"""Tests for what the bundler has read."""
