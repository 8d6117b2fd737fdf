"""The WebSocket of a page: its frames (RFC 6455), and what waits to be sent."""
