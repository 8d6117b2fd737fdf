"""Tests of ``bridge.daemonlog``."""
