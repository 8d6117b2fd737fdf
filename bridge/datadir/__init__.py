"""The data directory: its paths, its lock, and the pairing token in it."""
