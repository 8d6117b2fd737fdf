"""
The daemon's one HTTP client: it dials checked addresses, and bounds what is received.

``outbound`` makes the requests of pages with it, clones and looks for updates theirs;
each with an address policy of its own.

::

    target           what is requested
    addresspolicy    which addresses may be dialled
    resolver         host names to addresses
    client           resolves, checks, connects (loads the rest when first needed)
    trust            the TLS context of all connections
    endpoint, agent  dial a checked address, and send a checked request
    responseguard    bounds what the parser of responses receives
    exchange         requests and responses over one connection after another
"""
