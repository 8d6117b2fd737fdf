"""liblo's own programs: another implementation of OSC, over real UDP."""

import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..programs import program

PATIENCE_SECONDS = 30


def oscsend(port: int, address: str, types: str = "", *args: str) -> None:
    """Send a message with liblo."""
    send = program("oscsend", "liblo-tools")
    line = [send, "127.0.0.1", str(port), address, types, *args]
    subprocess.run(line, check=True, timeout=PATIENCE_SECONDS)


@contextmanager
def oscdump(port: int) -> Iterator[subprocess.Popen[str]]:
    """Print what comes to ``port`` with liblo, one message a line."""
    line = [program("oscdump", "liblo-tools"), "-L", str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def readable(stream: Any) -> bool:
    """Whether a program has written something."""
    return bool(select.select([stream], [], [], 0.1)[0])
