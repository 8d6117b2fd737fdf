"""plugin-bridge: what a desktop application's web page cannot do, done for it."""

import os

# Autobahn's parts in C take 50 ms and a megabyte to load, and nothing here uses them.
os.environ.setdefault("AUTOBAHN_USE_NVX", "0")

__version__ = "0.1.0"
