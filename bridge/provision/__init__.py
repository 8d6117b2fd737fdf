"""What a daemon builds with, put in place: the bundler and the host's sources."""
