"""
Where notifications go.

::

    fanout          what is shown, validated; Sink, and what brings it to each target
    overlay, ...    the sinks, and what they need
"""
