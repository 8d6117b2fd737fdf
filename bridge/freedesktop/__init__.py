"""
The user's desktop, reached over the session bus.

::

    messages        what goes over it
    connection      one connection, by txdbus
    bus             where the bus is, and the connection, made again when it is lost
    notes           what users of notifications need to know
    notifications   the client of ``org.freedesktop.Notifications``

Users need ``Desktop`` and ``Note``.
"""
