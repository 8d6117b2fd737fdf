"""Options, variables and host profiles."""
