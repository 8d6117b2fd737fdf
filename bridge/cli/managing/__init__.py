"""Manage a running daemon: one socket, progress, Ctrl-C, and plain refusals."""
