"""Tests for what the benchmarks conclude from what they measure."""
