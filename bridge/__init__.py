"""plugin-bridge: what a desktop application's web page cannot do, done for it."""

__version__ = "0.1.0"
