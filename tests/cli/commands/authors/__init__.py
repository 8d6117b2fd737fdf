"""Tests of ``bridge.cli.commands.authors``."""
