"""A URL becomes a bounded tree on disk."""
