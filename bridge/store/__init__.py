"""The state store: JSON values by namespace and key, in one file."""
