"""A plugin while its author works on it: its files, its page, its log."""
