"""
The daemon's one HTTP client: it dials checked addresses, and bounds what is received.

``outbound`` makes the requests of pages with it, clones and looks for updates theirs;
each with an address policy of its own.

::

    target           what is requested
    addresspolicy    which addresses may be dialled, and which are public
    client           looks names up, checks their addresses, gets ready to connect
    trust            which authorities are trusted; the TLS context of all connections
    exchange         dials checked addresses, sends checked requests, reads responses
    responseguard    bounds what the parser of responses receives
"""
