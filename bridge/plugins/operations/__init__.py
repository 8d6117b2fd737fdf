"""One change that the user confirmed: all of it, or nothing."""
