"""The frames of WebSockets."""
