"""liblo's own program: another implementation of OSC, over real UDP."""

import subprocess

from ..programs import program

PATIENCE_SECONDS = 30


def oscsend(port: int, address: str, types: str = "", *args: str) -> None:
    """Send a message with liblo."""
    send = program("oscsend", "liblo-tools")
    line = [send, "127.0.0.1", str(port), address, types, *args]
    subprocess.run(line, check=True, timeout=PATIENCE_SECONDS)
