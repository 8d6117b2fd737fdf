"""The reference host's page with real plugins in Chromium, and a walk through it."""
