"""A plugin's manifest, signature and files."""
