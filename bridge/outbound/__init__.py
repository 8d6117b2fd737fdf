"""
One HTTP request to the public internet: its rules, its connection, its response.

::

    target, checkedrequest   what is requested, validated before anything is sent
    addresspolicy            which addresses may be dialled
    resolver                 host names to addresses
    endpoint, httpclient     dial a checked address and speak HTTP (loaded when needed)
    responseguard            bounds what the client's parser receives
    bodytext                 the bytes of a body to the text of an answer
    fetcher                  all of it, with a deadline and a limit on fetches at once
"""
