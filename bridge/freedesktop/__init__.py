"""
The user's desktop, reached over the session bus.

::

    connection      one connection, by txdbus
    bus             where the bus is, and the connection, made again when it is lost
    notifications   the client of ``org.freedesktop.Notifications``

Users need ``Notifications`` and ``Note``.
"""
