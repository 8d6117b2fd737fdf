"""
One HTTP request to the public internet: what may be asked, dialled and answered.

::

    target, request     what is asked for, judged before anything is sent
    judge               which addresses may be dialled
    names               host names to addresses
    dial, client        dial a judged address and speak HTTP (loaded when needed)
    guard               bounds what the client's parser is given
    text                the bytes of a body to the text of an answer
    fetcher             the whole of it, with a deadline, and so many at once
"""
