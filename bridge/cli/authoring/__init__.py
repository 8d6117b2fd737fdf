"""What the commands for plugin authors share: work trees, key files, checks."""
