"""Tests of ``bridge.cli.authoring``."""
