"""The HTTP server and its WebSocket."""
