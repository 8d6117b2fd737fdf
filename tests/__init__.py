"""Tests."""

import signal

# Shells start what runs in the background with SIGINT ignored, which every program that
# a test starts, and ends by SIGINT, would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
