"""Ask a running daemon, over its control socket."""
