"""
The wiring of a daemon, for ``bridge.tap``.

::

    assembly        from options to a daemon: every part, in the order of dependencies
    services        what all parts depend on; every service, with its parts; every sink
    oneshot         what --print-token, --rotate-token and --build-plugins do

In each, a line depends only on those before it.
"""
