import signal
import sys

# Shells start what runs in the background with SIGINT ignored, which every program that
# a test starts, and ends by SIGINT, would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Programs of the tests, which are many, load no hypothesis, the largest part of their
# time.  What runs tests has loaded one of these.
if {"pytest", "twisted.trial"} & sys.modules.keys():
    from hypothesis import settings

    # How long an example takes depends on what else the machine does.
    settings.register_profile("here", deadline=None)
    settings.load_profile("here")
