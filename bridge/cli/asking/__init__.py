"""Ask a running daemon: over HTTP, or as a page does."""
