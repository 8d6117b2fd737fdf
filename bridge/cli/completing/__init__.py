"""What shells complete: which values options and arguments have."""
