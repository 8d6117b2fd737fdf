"""
What pages of other sites reach, in a real browser: everything a page can send.

One table of outcomes for each kind of page.  Each knows the right token, which it never
would; so what holds is not the token but the guard.
"""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .browser import Browser, open_browser
from .daemon import Daemon, HomeCase, running

PAGE = (Path(__file__).parent / "attack.html").read_bytes()
REBINDING_HOST = "127.0.0.2"
RESOLVER = (
    "--host-resolver-rules=MAP evil.example 127.0.0.1,"
    f"MAP rebound.example {REBINDING_HOST}"
)
NEVER_READ = {
    "image": "error",
    "script": "error",
    "module": "error",
    "style": "error",
    "events": "error",
    # That something was queued does not mean that it was done.
    "beacon": "queued true",
    "beacon json": "queued true",
}
FOREIGN = {
    **NEVER_READ,
    "simple": "blocked",
    "no-cors": "blocked",
    "no-cors post": "blocked",
    "text": "blocked",
    "json": "blocked",
    "token": "blocked",
    "describe": "blocked",
    "form": "unreadable",
    "form text": "unreadable",
    "form multipart": "unreadable",
    "frame": "unreadable",
    "socket": "closed 1006",
    "worker": "blocked",
}
OUTCOMES = {
    # A page of this machine may ask; but what it may do, the token decides.
    "local": {
        **FOREIGN,
        "simple": "read 200",
        "text": "read 401",
        "json": "read 401",
        "token": "read 200",
        "describe": "read 200",
        "socket": "open",
        "worker": "read 200",
    },
    "foreign": FOREIGN,
    "sandbox": FOREIGN,
    # A rebound page is of one origin with the daemon, as browsers see it, and reads its
    # refusals; nothing else.
    "rebound": {
        **NEVER_READ,
        "simple": "read 403",
        "no-cors": "read 403",
        "no-cors post": "read 403",
        "text": "read 403",
        "json": "read 403",
        "token": "read 403",
        "describe": "read 403",
        "form": "read text",
        "form text": "read text",
        "form multipart": "read text",
        "frame": "read text",
        "socket": "closed 1006",
        "worker": "read 403",
    },
}


def serve_page(connection: socket.socket, head: bytes) -> None:
    """Answer with the page that tries."""
    found = head.startswith(b"GET /attack")
    status, body = (b"200 OK", PAGE) if found else (b"404 Not Found", b"")
    connection.sendall(
        b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n"
        b"Connection: close\r\n\r\n%s" % (status, len(body), body)
    )


def relay(source: socket.socket, target: socket.socket) -> None:
    """Carry bytes one way until there are no more."""
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


def relay_to(port: int) -> Callable[[socket.socket, bytes], None]:
    """Carry what is not for the page to the daemon, as a rebound name would."""

    def carry(connection: socket.socket, head: bytes) -> None:
        if head.startswith(b"GET /attack"):
            serve_page(connection, head)
            return
        with socket.create_connection(("127.0.0.1", port)) as daemon:
            daemon.sendall(head)
            back = threading.Thread(target=relay, args=(daemon, connection))
            back.start()
            relay(connection, daemon)
            back.join()

    return carry


@contextmanager
def listening(
    address: tuple[str, int], answer: Callable[[socket.socket, bytes], None]
) -> Iterator[int]:
    """Answer connections by what they begin with; gives the port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head = self.request.recv(65536)
            if head:
                answer(self.request, head)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(address, Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


class PageTests(HomeCase):
    """Tests for pages that try everything."""

    def outcomes(self, browser: Browser, daemon: Daemon) -> dict[str, Any]:
        """Let each page try, and give what each has learned."""
        own = f"http://127.0.0.1:{daemon.port}"
        rebound = f"http://rebound.example:{daemon.port}"
        found = {}
        with (
            listening(("127.0.0.1", 0), serve_page) as port,
            listening((REBINDING_HOST, daemon.port), relay_to(daemon.port)),
        ):
            for place, site, target, call in (
                ("local", f"http://localhost:{port}", own, "tryAll"),
                ("foreign", f"http://evil.example:{port}", own, "tryAll"),
                ("sandbox", f"http://localhost:{port}", own, "tryAllInSandbox"),
                ("rebound", rebound, rebound, "tryAll"),
            ):
                given = quote(f"{target} {daemon.token} {place}")
                browser.open(f"{site}/attack?{place}#{given}")
                found[place] = browser.chrome.execute_async_script(
                    f"{call}().then(arguments[arguments.length - 1])"
                )
        return found

    def test_attack_every_way_a_page_can_send(self) -> None:
        """What each kind of page learns; and no call but the allowed one is made."""
        options = "--dev", "--rate=1000", "--burst=1000"
        with running(self.home, *options) as daemon, open_browser(RESOLVER) as browser:
            browser.chrome.set_script_timeout(240)
            found = self.outcomes(browser, daemon)
            settings = daemon.call_by_http("state", "list", {"ns": "host"})
        self.maxDiff = None
        for place, expected in OUTCOMES.items():
            self.assertEqual(found[place], expected, place)
        self.assertEqual(settings, {"entries": {"local.token": 1}})
