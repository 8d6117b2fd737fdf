"""
The wiring of a daemon, for ``bridge.tap``.

::

    assembly        from options to a daemon: every part, in the order of dependencies
    services        what all parts depend on; every other service, and every sink
    plugins         all that installs, builds and links plugins, and their services
    oneshot         what --print-token, --rotate-token and --build-plugins do

In each, a line depends only on those before it.
"""
