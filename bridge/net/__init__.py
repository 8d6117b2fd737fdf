"""What the WebSockets of pages and of sinks share."""
