"""Tests for bridge.schemas: what ships is what the daemon does."""
