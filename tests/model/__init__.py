"""
A stateful test of the assembled daemon against a small model.

::

    published       what the double of a git server has: versions of plugins
    schedule        threads whose work is done in an order that a seed decides
    simulation      the daemon that ``bridge.tap`` assembles, in memory, on real files
    expected        the model: what must be there
    machine         the steps, and what is compared after each

``python -m tests.model --help`` runs more of them than the suite does.
"""
