"""The log file of the page and its plugins: written, rotated, followed."""
