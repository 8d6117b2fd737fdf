"""Addresses, and the frames of WebSockets."""
