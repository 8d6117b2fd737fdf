"""A demonstration that needs only this machine."""
