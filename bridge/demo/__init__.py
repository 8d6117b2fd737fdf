"""A demonstration that needs nothing but this machine."""
