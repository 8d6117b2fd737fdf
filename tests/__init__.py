"""Tests."""

import signal

from hypothesis import settings

# Shells start what runs in the background with SIGINT ignored, which every program that
# a test starts, and ends by SIGINT, would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes depends on what else the machine does.
settings.register_profile("here", deadline=None)
settings.load_profile("here")
