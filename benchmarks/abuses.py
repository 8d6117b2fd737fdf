"""
Everything that an outsider, or a page, did to other pages, each for as long as it runs.

An abuse is a function that never returns; ``attacking`` runs one in a process of its
own, so that the client that measures is never short of processor time by it.
"""

import base64
import contextlib
import errno
import functools
import hashlib
import io
import itertools
import json
import multiprocessing
import random
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from PIL import Image

from tests.e2e.daemon import Daemon
from tests.rawsocket import CONTINUATION, PING, TEXT, RawSocket, frame, text

from .flooding import READ, connect, knock, paired, pump, request
from .probe import SILENT_PORT

OTHERS = 60
"""How many other pages there are; those that are measured need a place, too."""
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
ORIGIN = "http://localhost:9000"
OVERLAY_PORT = 42070
PORT_SECONDS = 70.0  # a closed connection keeps its port for 60
WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
ENDLESS = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
    "SELECT count(*) FROM r"
)

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload([__name__])


def head(port: int, target: str, *lines: str, version: str = "1.1") -> bytes:
    """Write the head of a GET request."""
    first = (f"GET {target} HTTP/{version}", f"Host: 127.0.0.1:{port}")
    return "".join(f"{line}\r\n" for line in (*first, *lines, "")).encode("ascii")


# Without the token.


def pipelined(count: int, *, read: bool) -> Callable[[int, str], None]:
    """Ask for the health on so many connections, without a pause."""

    def attack(port: int, token: str) -> None:
        asked = head(port, "/v1/health") * 1500
        pump(asked, count, functools.partial(connect, port), read=read)

    return attack


def other_origins(port: int, token: str) -> None:
    """Pages of other sites that ask for anything, as fast as they can."""
    evil = ("Origin: https://evil.example", "Sec-Fetch-Site: cross-site")
    asked = head(port, "/v1/health", *evil) + head(port, "/v1/ws", *evil)
    pump(asked * 500, 20, functools.partial(connect, port), read=True)


def wrong_hellos(port: int, token: str) -> None:
    """Sockets with a wrong token in their hello, as fast as they can."""
    while True:
        with (
            contextlib.suppress(OSError, AssertionError, IndexError),
            RawSocket(port) as raw,
        ):
            if raw.status == 101:
                wrong = {"type": "hello", "token": "A" * 43, "client": "x/1"}
                raw.send(text(wrong))
                raw.ended()


def silent_upgrades(port: int, token: str) -> None:
    """Sockets of an allowed origin that never send a hello, as fast as they can."""
    held: deque[RawSocket] = deque()
    while True:
        with contextlib.suppress(OSError, IndexError):
            held.append(RawSocket(port, origin=ORIGIN))
        if len(held) > 200:
            held.popleft().socket.close()


def bad_handshakes(port: int, token: str) -> None:
    """Upgrades without a key, of another version, to nothing, as fast as they can."""
    upgrade = ("Upgrade: websocket", "Connection: Upgrade")
    key, version = KEY.rstrip(), "Sec-WebSocket-Version: 13"
    openings = (
        head(port, "/v1/ws", *upgrade, version),
        head(port, "/v1/ws", *upgrade, key, "Sec-WebSocket-Version: 12"),
        head(port, "/v1/ws", *upgrade, key, key, version),
        head(port, "/v1/ws", "Upgrade: websocket", key, version),
        head(port, "/v1/ws", *upgrade, "Sec-WebSocket-Key: short", version),
    )
    knock(port, openings)


def old_upgrades(port: int, token: str) -> None:
    """Upgrades over HTTP/1.0, with and without an origin, as fast as they can."""
    lines = (
        *("Upgrade: websocket", "Connection: Upgrade", KEY.rstrip()),
        *("Sec-WebSocket-Version: 13",),
    )
    openings = (
        head(port, "/v1/ws", *lines, version="1.0"),
        head(port, "/v1/ws", *lines, f"Origin: {ORIGIN}", version="1.0"),
    )
    knock(port, openings)


def client_hello() -> bytes:
    """Return what a client of TLS sends first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    started = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        started.do_handshake()
    return outgoing.read()


def tls_hellos(port: int, token: str) -> None:
    """Clients that expect TLS, as fast as they can."""
    knock(port, [client_hello()])


def slowloris(port: int, token: str) -> None:
    """200 requests sent byte by byte, and sockets that wait for a hello."""
    pending: list[socket.socket] = []
    slow = itertools.cycle(b"GET /v1/ws HTTP/1.1\r\nX-Slow: " + b"x" * 1000)
    while True:
        with contextlib.suppress(OSError):
            while len(pending) < 200:
                pending.append(connect(port))
        byte = bytes([next(slow)])
        for one in list(pending):
            try:
                one.sendall(byte)
            except OSError:
                pending.remove(one)
                one.close()
        waiting = []
        with contextlib.suppress(OSError, IndexError):
            waiting += [RawSocket(port) for _ in range(4)]
        time.sleep(0.3)
        for raw in waiting:
            raw.socket.close()


def idle_connections(port: int, token: str) -> None:
    """Connections that send nothing, a hundred a second; 500 of them stay open."""
    held: deque[socket.socket] = deque()
    while True:
        with contextlib.suppress(OSError):
            held.append(connect(port))
        if len(held) > 500:
            held.popleft().close()
        time.sleep(0.01)


def noise(port: int, token: str) -> None:
    """Requests with wrong bytes in them, as fast as they can."""
    chance = random.Random(6455)  # noqa: S311 (noise, no secret)
    openings = []
    for _ in range(500):
        wrong = bytearray(head(port, "/v1/ws", KEY.rstrip()))
        for _ in range(chance.randrange(9)):
            wrong[chance.randrange(len(wrong))] = chance.randrange(256)
        openings.append(bytes(wrong) + chance.randbytes(chance.randrange(99)))
    knock(port, openings)


def health_poller(port: int, token: str) -> None:
    """A program that looks 25 times a second whether the daemon runs."""
    while True:
        with contextlib.suppress(OSError), connect(port) as polling:
            polling.sendall(head(port, "/v1/health", "Connection: close"))
            while polling.recv(4096):
                pass
        time.sleep(0.04)


def controls_before_hello(port: int, token: str) -> None:
    """Fifteen sockets that send pings instead of a hello, as fast as they can."""
    pings = frame(PING, b"x" * 125) * 500
    pump(pings, 15, lambda: RawSocket(port, origin=ORIGIN).socket, read=True)


def overlay_server() -> socket.socket:
    """
    Listen where a sink expects its overlay.

    A connection of another abuse may have the port: clients get theirs from there too.
    """
    end = time.monotonic() + PORT_SECONDS
    while True:
        try:
            return socket.create_server(("127.0.0.1", OVERLAY_PORT))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end:
                raise
        time.sleep(0.1)


@contextlib.contextmanager
def sink_connection(server: socket.socket) -> Iterator[socket.socket]:
    """Accept a sink as its overlay; the block ends without an error when it leaves."""
    with contextlib.suppress(OSError), server.accept()[0] as sink:
        asked = sink.recv(4096).decode("ascii")
        key = asked.split("Sec-WebSocket-Key: ")[1].split("\r\n")[0]
        digest = hashlib.sha1(f"{key}{WEBSOCKET}".encode("ascii")).digest()  # noqa: S324
        accept = base64.b64encode(digest).decode("ascii")
        sink.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\n"
            + f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode("ascii")
        )
        yield sink


def flooding_overlay(port: int, token: str) -> None:
    """A WebSocket server where a sink expects its overlay, which sends and sends."""
    flood = b"\x01\0" + b"\0\0" * 30_000
    with overlay_server() as server:
        while True:
            with sink_connection(server) as sink:
                while True:
                    sink.sendall(flood)


# With the token.


@contextlib.contextmanager
def page_until_cut_off(port: int, token: str) -> Iterator[RawSocket]:
    """Pair a socket; the block ends without an error when the daemon ends it."""
    with contextlib.suppress(OSError, AssertionError), paired(port, token) as page:
        yield page


def busy(port: int, token: str) -> None:
    """Many pages that ask five times a second each."""
    pages = [paired(port, token) for _ in range(OTHERS)]
    for number in itertools.count():
        begun = time.monotonic()
        for page in pages:
            page.send(request(number))
        for page in pages:
            page.answer()
        time.sleep(max(0.0, 0.2 - (time.monotonic() - begun)))


def slow_reader(port: int, token: str) -> None:
    """A page that asks for a megabyte fifty times a second and reads nothing."""
    page = paired(port, token)
    for number in range(16):
        params = {"ns": "large", "key": str(number), "value": "x" * 60_000}
        page.send(request(number, method="set", params=params))
        page.answer()
    while True:
        page = paired(port, token, receive_bytes=4096)
        with contextlib.suppress(OSError):
            for number in itertools.count():
                page.send(request(number, method="list", params={"ns": "large"}))
                time.sleep(0.02)
        page.socket.close()


def one_by_one(make: Callable[[], bytes]) -> Callable[[int, str], None]:
    """Send a frame, and again when it is answered."""

    def attack(port: int, token: str) -> None:
        whole = make()
        while True:
            with page_until_cut_off(port, token) as page:
                while True:
                    page.send(whole)
                    page.receive()

    return attack


def large_frame() -> bytes:
    """Write a frame of 8 MiB, one long string."""
    asked = {"type": "request", "id": "1", **READ, "params": {"value": ""}}
    before, after = json.dumps(asked).encode("ascii").split(b'""')
    fill = 8 * 2**20 - len(before) - len(after) - 2
    return frame(TEXT, before + b'"' + b"x" * fill + b'"' + after)


def long_integers() -> bytes:
    """Write a frame of 1.3 MB, integers of 20 digits."""
    return request(1, params={"values": [10**19 + n for n in range(60_000)]})


def flooded(data: bytes, *, read: bool, pages: int = 4) -> Callable[[int, str], None]:
    """Send frames on a few paired sockets, without a pause."""

    def attack(port: int, token: str) -> None:
        pump(data, pages, lambda: paired(port, token).socket, read=read)

    return attack


def log_batch() -> bytes:
    """Write a frame of 200 log records."""
    record = {"level": "info", "scope": "flood", "message": "x" * 400}
    return text({"type": "logs", "records": [record] * 200})


def empty_fragments(port: int, token: str) -> None:
    """A message that never ends, of fragments without content."""

    def begun() -> socket.socket:
        page = paired(port, token)
        page.send(frame(TEXT, b"{", fin=False))
        opened: socket.socket = page.socket
        return opened

    pump(frame(CONTINUATION, fin=False) * 5000, 4, begun, read=True)


def resets(port: int, token: str) -> None:
    """Pages that are cut off within a frame, while they are answered."""
    now = struct.pack("ii", 1, 0)
    while True:
        with contextlib.suppress(OSError, AssertionError):
            page = paired(port, token)
            page.send(request(1), frame(TEXT, b"x" * 5000)[:-1])
            page.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            page.socket.close()


def endless_statement(number: int = 1) -> bytes:
    """Write a call with a statement that never ends by itself."""
    params = {"database": "sample", "sql": ENDLESS}
    return request(number, service="sql", method="query", params=params)


def reload(port: int, token: str, calls: Iterable[bytes]) -> None:
    """Be a page that calls, and reloads before it is answered."""
    with page_until_cut_off(port, token) as page:
        page.send(*calls)
        time.sleep(0.5)


def statements_of_pages_that_went(port: int, token: str) -> None:
    """A page that reloads again and again, each time with slow statements."""
    while True:
        reload(port, token, map(endless_statement, range(20)))


def fetches_of_pages_that_went(port: int, token: str) -> None:
    """A page that reloads again and again, each time with fetches without an answer."""
    params = {"url": f"http://127.0.0.1:{SILENT_PORT}/"}
    with socket.create_server(("127.0.0.1", SILENT_PORT), backlog=128) as silent:
        silent.setblocking(False)
        fetch = {"service": "outbound", "method": "fetch", "params": params}
        while True:
            reload(port, token, [request(number, **fetch) for number in range(20)])
            with contextlib.suppress(BlockingIOError):
                while True:
                    silent.accept()[0].close()


def icons_of_pages_that_went(port: int, token: str) -> None:
    """A page that reloads again and again, each time with large icons for a sink."""
    icon = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(30_000)).decode("ascii")
    params = {"title": "icon", "icon": icon, "useBase64Icon": True}

    def read_all(server: socket.socket) -> None:
        while True:
            with sink_connection(server) as sink:
                while sink.recv(1 << 20):
                    pass

    with overlay_server() as server:
        threading.Thread(target=read_all, args=(server,), daemon=True).start()
        send = {"service": "notify", "method": "send", "params": params}
        while True:
            reload(port, token, [request(number, **send) for number in range(60)])


def slow_icons() -> list[bytes]:
    """Make images that take long: a JPEG of many scans, one of too many, and a GIF."""
    large, written = Image.new("L", (1000, 1000)), io.BytesIO()
    large.save(written, "JPEG", progressive=True)
    jpeg = written.getvalue()
    before, last = jpeg[:-2], jpeg[jpeg.rindex(b"\xff\xda") : -2]
    moving = io.BytesIO()
    frames = [Image.new("L", (1000, 1000), shade) for shade in range(20)]
    large.save(moving, "GIF", save_all=True, append_images=frames)
    scans = (before + last * count + jpeg[-2:] for count in (20, 2000))
    return [*scans, moving.getvalue()]


def icons_to_decode(port: int, token: str) -> None:
    """A page that reloads again and again, each time with images that take long."""
    images, send = slow_icons(), {"service": "notify", "method": "send"}
    for number in itertools.count():
        calls = []
        for which, image in enumerate(images * 4):
            # What follows the image makes it a new one.
            new = image + struct.pack("!II", number, which)
            icon = base64.b64encode(new).decode("ascii")
            shown = {"title": "icon", "icon": icon, "useBase64Icon": True}
            params = {**shown, "sinks": ["freedesktop"]}
            calls.append(request(which, **send, params=params))
        reload(port, token, calls)


def calls_that_wait(port: int, token: str) -> None:
    """Two pages whose calls of 8 MB wait for their turn, as fast as they can."""
    asked = request(1, params={"ns": "host", "key": "k", "more": "x" * 8_000_000})
    pump(asked, 2, lambda: paired(port, token).socket, read=True)


def short_fragments(port: int, token: str) -> None:
    """A message of fragments of a byte, closed before it is too long."""
    while True:
        with page_until_cut_off(port, token) as page:
            page.send(frame(TEXT, b"[", fin=False))
            piece = frame(CONTINUATION, b" ", fin=False) * 10_000
            for _ in range(200):
                page.socket.sendall(piece)


def osc_flood(port: int, token: str) -> None:
    """Messages and noise to the port that pages listen on, as fast as they can."""
    page = paired(port, token)
    page.send(request(1, service="osc", method="status", params={}))
    to = page.answer()["result"].get("listenPort")
    if to is None:
        page.send(request(2, service="osc", method="listen", params={}))
        to = page.answer()["result"]["port"]
    page.socket.close()
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in itertools.count():
        message = b"/flood/%03d\0\0,i\0\0" % (number % 1000) + struct.pack("!i", number)
        with contextlib.suppress(OSError):
            sender.sendto(message if number % 3 else message[:-3], ("127.0.0.1", to))
        if number % 50 == 0:
            time.sleep(0.001)


ABUSES: dict[str, Callable[[int, str], None]] = {
    "health poller": health_poller,
    "pings before hello": controls_before_hello,
    "flooding overlay": flooding_overlay,
    "SQL of gone pages": statements_of_pages_that_went,
    "fetches of gone": fetches_of_pages_that_went,
    "icons of gone": icons_of_pages_that_went,
    "icons to decode": icons_to_decode,
    "calls that wait": calls_that_wait,
    "short fragments": short_fragments,
    "failing hellos": wrong_hellos,
    "silent upgrades": silent_upgrades,
    "bad handshakes": bad_handshakes,
    "HTTP/1.0 upgrades": old_upgrades,
    "TLS hellos": tls_hellos,
    "slowloris": slowloris,
    "idle connections": idle_connections,
    "noise": noise,
    "other origins": other_origins,
    "1 pipelining": pipelined(1, read=False),
    "120 pipelining": pipelined(120, read=False),
    "120 reading": pipelined(120, read=True),
    "60 busy pages": busy,
    "slow reader": slow_reader,
    "8 MiB frames": one_by_one(large_frame),
    "long integers": one_by_one(long_integers),
    "refused frames": flooded(text([]) * 2000, read=True),
    "too many requests": flooded(request(1) * 500, read=True),
    "log flood": flooded(log_batch(), read=True),
    "unread pongs": flooded(frame(PING, b"x" * 125) * 500, read=False),
    "empty fragments": empty_fragments,
    "resets": resets,
    "endless statements": one_by_one(endless_statement),
    "OSC flood": osc_flood,
}
"""Each is given the daemon's port and its token, and does not return."""


def run(name: str, port: int, token: str) -> None:
    """Run one until the process is killed."""
    ABUSES[name](port, token)


@contextlib.contextmanager
def attacking(name: str, daemon: Daemon) -> Iterator[None]:
    """
    Run one in a process of its own while the block runs.

    :raise AssertionError: It ended by itself, so it attacked nothing.
    """
    process = _FORKING.Process(target=run, args=(name, daemon.port, daemon.token))
    process.start()
    try:
        yield
        assert process.is_alive(), f"{name} ended"
    finally:
        process.kill()
        process.join()
        process.close()
