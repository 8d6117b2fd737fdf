"""Installed plugins and trusted keys, and their atomic changes."""
