"""The ``plugin-bridge`` command: ``main`` lists the commands, and runs one."""
