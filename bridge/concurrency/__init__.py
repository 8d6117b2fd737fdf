"""Threads, work that runs one at a time, and counts that are reported in time."""
