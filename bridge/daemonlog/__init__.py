"""The daemon's own log lines: on standard error or in the journal, and to pages."""
