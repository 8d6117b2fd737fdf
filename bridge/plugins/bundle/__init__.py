"""Installed trees become a published bundle, or a reason why not."""
