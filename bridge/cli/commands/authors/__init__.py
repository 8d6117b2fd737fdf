"""The commands for plugin authors."""
