"""
Where notifications go.

::

    notification    what is to be shown, validated
    fanout          ISink; brings a notification to each of its targets
    parts           what sinks are made of
    overlay, ...    the sinks
"""
