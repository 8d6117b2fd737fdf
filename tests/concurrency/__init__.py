"""Tests of ``bridge.concurrency``."""
