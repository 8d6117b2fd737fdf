"""What the repositories of plugins hold now; changes nothing that is installed."""
