"""
The wiring of a daemon, for ``bridge.tap``.

::

    assembly        from options to a daemon: every part, in the order of dependencies
    core            what all parts depend on
    plugins         all that installs, builds and links plugins
    services        every service, and every sink
    oneshot         what --print-token, --rotate-token and --build-plugins do

In each, a line depends only on those before it.
"""
