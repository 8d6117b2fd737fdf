"""
Where notifications go.

::

    notification    what is to be shown, validated
    fanout          Sink; brings a notification to each of its targets
    overlay, ...    the sinks, and what they need
"""
