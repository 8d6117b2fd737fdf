"""Tests for rpc."""
