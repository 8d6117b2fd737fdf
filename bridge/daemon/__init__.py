"""The daemon as a process: its ports, its banner, its supervisor, its end."""
