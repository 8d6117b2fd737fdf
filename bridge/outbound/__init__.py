"""
Fetches of pages: one HTTP request to the public internet, and its response as text.

::

    fetcher     checks method, headers and body, and makes so many fetches at once
    bodytext    the bytes of a body to the text of an answer
"""
