"""Turns installed trees into a published bundle, or reports why it can't."""
