"""What ``doctor`` checks, and the file it makes for bug reports."""
