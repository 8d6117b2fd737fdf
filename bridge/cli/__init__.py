"""The plugin-bridge command."""
