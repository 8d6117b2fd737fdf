"""Tests for the clients of the protocol."""
