"""Published source code, which the scan must not refuse without a reason."""
