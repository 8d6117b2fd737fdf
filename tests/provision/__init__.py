"""Tests of ``bridge.provision``."""
