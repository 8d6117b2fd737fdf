"""Addresses, authorities that are trusted, and the frames of WebSockets."""
