"""The page's log file, and the daemon's own log lines."""
