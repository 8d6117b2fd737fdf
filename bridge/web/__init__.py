"""HTTP and WebSocket: the edge."""
