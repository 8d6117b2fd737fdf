"""The commands; no module imports another."""
