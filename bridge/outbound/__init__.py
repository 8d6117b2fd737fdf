"""
Fetches of pages: one HTTP request to the public internet, and its response as text.

::

    checkedrequest   method, headers and body, validated before anything is sent
    bodytext         the bytes of a body to the text of an answer
    fetcher          all of it, with a deadline and a limit on fetches at once
"""
