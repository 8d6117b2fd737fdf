"""Tests of ``bridge.outbound``."""
