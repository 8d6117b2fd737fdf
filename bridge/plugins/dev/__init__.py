"""Lets an author's work tree stand in for an installed one."""
