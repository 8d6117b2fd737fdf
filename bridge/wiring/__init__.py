"""
The wiring of a daemon, in groups, for ``bridge.tap``.

::

    core            what every other part depends on
    logs            where the daemon's own log lines go
    pagelog         where the page's go
    plugins         all that installs, builds and links plugins
    services        every service, and the sinks
    sinks           which of the sinks there are
    parts           all of these, once the daemon listens
    names           which services there will be, and what is imported for the parts
    oneshot         what --print-token, --rotate-token and --build-plugins do

In each, a line depends only on those before it.
"""
