"""Web servers on loopback, for as long as a block of code runs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import (
    BaseHTTPRequestHandler,
    SimpleHTTPRequestHandler,
    ThreadingHTTPServer,
)
from pathlib import Path
from typing import Any


@contextmanager
def serving(answers: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a port of loopback; gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _QuietHandler(SimpleHTTPRequestHandler):
    """Serves a directory, whose files no cache keeps, and logs nothing."""

    def end_headers(self) -> None:
        """Add to the headers."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def serving_directory(directory: Path) -> Iterator[str]:
    """Serve the files of a directory; gives the address."""
    with serving(partial(_QuietHandler, directory=str(directory))) as address:
        yield address
