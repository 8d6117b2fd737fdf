"""The ``plugin-bridge`` command: ``main`` runs one command of ``catalogue``."""
