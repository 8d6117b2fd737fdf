"""
The parts of a daemon, made in groups for ``bridge.tap``.

::

    core            what every other part is given
    logs            where log lines go, the page's and the daemon's own
    plugins         all that installs, builds and links plugins
    services        every service, and the sinks
    sinks           which of the sinks there are
    oneshot         what --print-token, --rotate-token and --build-plugins do

In each, what rests on what is the order of the lines.
"""
