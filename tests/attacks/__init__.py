"""
Attacks of a plugin on the page, run in a real browser in each mode of a build.

``python -m tests.attacks`` runs them, and writes what they took to ``outcomes.toml``.
"""
