"""
The parts of a daemon, made in groups for ``bridge.tap``.

::

    foundation      what every other part is given
    logs            where log lines go, the page's and the daemon's own
    plugins         all that installs, builds and links plugins
    services        every service, and the sinks

In each, what rests on what is the order of the lines.
"""
