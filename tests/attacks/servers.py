"""What an attacked page meets: its server, another one, and the way to the daemon."""

import re
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final

from attrs import Factory, define, field

from ..reference.bundling import lay_out_page

_POLICY: Final = re.compile(
    r"<meta\s+http-equiv=\"Content-Security-Policy\".*?>", re.DOTALL
)
PAGES: Final = ("page", "open")
"""What is attacked: the reference page, and it without its content security policy."""
LOOT: Final = "/loot/"
_CHUNK: Final = 1 << 16


def lay_out_pages(directory: Path, theme: Path) -> None:
    """Make a directory with each of ``PAGES``; the bundle is in ``theme``."""
    for name in PAGES:
        lay_out_page(directory / name, theme)
    index = directory / "open" / "index.html"
    text, count = _POLICY.subn("", index.read_text("utf-8"))
    assert count == 1
    index.unlink()
    index.write_text(text, "utf-8")


@define
class Elsewhere:
    """
    A server of another origin, which notes who has sent something there.

    :ivar seen: The names of pages and the ids of attacks.
    """

    seen: set[tuple[str, str]] = Factory(set)

    def answers(self) -> type[BaseHTTPRequestHandler]:
        """Return the class of its answers."""
        elsewhere = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Note the request."""
                if self.path.startswith(LOOT):
                    page, attack = self.path.removeprefix(LOOT).split("/")[:2]
                    name = attack.removesuffix(".js").partition("?")[0]
                    elsewhere.seen.add((page, name))
                # Who has sent it may have gone.
                with suppress(OSError):
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", "0")
                    self.send_header("Cache-Control", "no-store")
                    self.end_headers()

            def do_POST(self) -> None:
                """Note the request."""
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Write no log."""

        return Answers


@define(eq=False)
class Line:
    """
    The way to the daemon, which can be interrupted.

    :ivar port: Where the page finds the daemon.
    """

    target: int
    port: int = field(init=False)
    _listening: socket.socket = field(init=False)
    _open: list[socket.socket] = Factory(list)

    def __attrs_post_init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def _names(self) -> tuple[bytes, bytes]:
        near, far = (f"Host: 127.0.0.1:{port}" for port in (self.port, self.target))
        return near.encode(), far.encode()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
                self._open += near, far
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(
                        target=self._pass, args=(source, sink), daemon=True
                    ).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                # The daemon answers only to its own name.
                sink.sendall(chunk.replace(*self._names))
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def drop(self) -> None:
        """End every connection; new ones can be made."""
        ended, self._open = self._open, []
        for end in ended:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """End every connection, and accept no more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.drop()
