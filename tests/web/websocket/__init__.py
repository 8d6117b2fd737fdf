"""Tests for the WebSocket of a page."""
