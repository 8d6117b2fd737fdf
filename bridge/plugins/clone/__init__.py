"""Turns a URL into a bounded tree on disk."""
