"""
Attacks of plugins, run in a real browser on the reference page.

``attacker`` tries to take something from the page, from another plugin or to another
server; the plugins in ``greedy`` take more than their part of what all share.
``python -m tests.attacks`` runs the former and prints what was seen.
"""
