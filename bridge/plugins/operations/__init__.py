"""Changes that the user has confirmed, each applied completely or not at all."""
