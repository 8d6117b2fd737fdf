"""Tests of ``bridge.cli.commands.manage``."""
