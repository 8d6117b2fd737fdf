"""The data directory: its paths, whose its files are, and the pairing token in it."""
