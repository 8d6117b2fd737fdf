"""
The daemon's one HTTP client: it dials checked addresses, and bounds what is received.

The service ``outbound`` makes the requests of pages with it, clones and looks for
updates theirs; each with an address policy of its own.

::

    target      what is requested; which addresses may be dialled, and which are public
    client      looks names up, checks their addresses, and gets TLS ready
    bodytext    the bytes of a body to the text of an answer
    exchange    dials checked addresses, sends checked requests, reads guarded responses
"""
