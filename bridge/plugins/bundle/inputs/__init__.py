"""What the bundler has read: which files these may be, by its own lists."""
