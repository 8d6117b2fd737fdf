"""
Where notifications go.

::

    notification    what is to be shown, validated
    fanout          ISink; brings a notification to each of its targets
    maker           which sinks there are
    overlay, ...    the sinks
    plugins         a SinkMaker for each of them
"""
