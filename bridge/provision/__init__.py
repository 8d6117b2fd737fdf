"""Installs what the daemon builds with: the bundler and the host's sources."""
