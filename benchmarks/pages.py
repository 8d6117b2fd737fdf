"""Pages as a user has them, each in a thread: every kind of call, and how it ended."""

import contextlib
import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from attrs import define, field, frozen

from tests.e2e.daemon import Daemon
from tests.rawsocket import PING, PONG, RawSocket, close_frame, frame, text
from tests.webserver import Answers, serving

from .flooding import paired

BUSY: Final = frozenset({"unavailable"})
"""Refusals that an abuse may cause: too many statements, or too many log lines."""
CALLS_PER_CONNECTION: Final = 60


@define
class Tally:
    """
    How calls ended.

    :ivar answered: How many succeeded.
    :ivar refused: How many did not, by what refused them.
    :ivar unanswered: How connections ended while a call or a ping was not answered.
    :ivar connects: How long each connect took, in seconds, with all of its tries.
    """

    answered: Counter[str] = field(factory=Counter)
    refused: Counter[str] = field(factory=Counter)
    unanswered: list[str] = field(factory=list)
    connects: list[float] = field(factory=list)
    _trips: list[float] = field(factory=list)
    _lock: threading.Lock = field(factory=threading.Lock)

    def unexpected(self) -> Counter[str]:
        """Return the refusals that no abuse explains."""
        return Counter(
            {
                name: count
                for name, count in self.refused.items()
                if name.split(":")[0].split()[1] not in BUSY
            }
        )

    def trip(self, milliseconds: float) -> None:
        """Count one round trip of the page that is measured."""
        with self._lock:
            self._trips.append(milliseconds)

    def trips(self) -> list[float]:
        """Return the round trips since the last time, in milliseconds."""
        with self._lock:
            found, self._trips = self._trips, []
        return found


class PageThread(threading.Thread):
    """A page that calls until it is ended."""

    def __init__(self, daemon: Daemon, tally: Tally, pause: float) -> None:
        super().__init__()
        self._to, self._tally, self._pause = daemon, tally, pause
        self._ended = threading.Event()
        self._number = itertools.count()

    def end(self) -> None:
        """End it, and wait until it has."""
        self._ended.set()
        self.join()

    def connect(self) -> RawSocket:
        """Connect, however often it must be tried."""
        begun = time.monotonic()
        raw = paired(self._to.port, self._to.token)
        self._tally.connects.append(time.monotonic() - begun)
        return raw

    def call(self, raw: RawSocket, service: str, method: str, **params: object) -> Any:
        """
        Call a method, and count how it ended; return the response.

        :raise OSError: There was none; so does ``AssertionError``.
        """
        asked = {"id": str(next(self._number)), "params": params}
        name = f"{service}/{method}"
        call = {"type": "request", "service": service, "method": method, **asked}
        raw.send(text(call))
        got = raw.answer()
        assert got["id"] == asked["id"], f"{name}: another call was answered"
        if got["ok"]:
            self._tally.answered[name] += 1
        else:
            error = got["error"]
            why = error["message"]
            self._tally.refused[f"{name} {error['code']}: {why}"] += 1
        return got

    def calls(self, raw: RawSocket) -> Iterator[Callable[[], object]]:
        """Yield what to do on one connection, one after the other."""
        raise NotImplementedError

    @contextlib.contextmanager
    def connected(self) -> Iterator[RawSocket]:
        """Connect; what ends the block too early is counted as an unanswered call."""
        try:
            with self.connect() as raw:
                yield raw
        except (OSError, AssertionError) as e:
            self._tally.unanswered.append(f"{type(self).__name__}: {e!r}")

    def run(self) -> None:
        """Connect and call, again and again."""
        while not self._ended.is_set():
            with self.connected() as raw:
                for work in self.calls(raw):
                    work()
                    if self._ended.wait(self._pause):
                        break
                raw.send(close_frame(1000))
                raw.ended()


class Meter(PageThread):
    """Reads a setting again and again, over one connection, and measures it."""

    def calls(self, raw: RawSocket) -> Iterator[Callable[[], object]]:
        """See ``PageThread``."""

        def read() -> None:
            begun = time.perf_counter()
            self.call(raw, "state", "get", ns="host", key="k")
            self._tally.trip((time.perf_counter() - begun) * 1000)

        while True:
            yield read


@frozen
class Peers:
    """
    What the page's calls reach.

    :ivar osc_to: A UDP port on which nobody reads.
    :ivar osc_from: A UDP port for the daemon to listen on.
    :ivar http: A port of an HTTP server.
    """

    osc_to: int
    osc_from: int
    http: int


class Visitor(PageThread):
    """Calls every service in turn, and reconnects after some calls."""

    def __init__(self, daemon: Daemon, tally: Tally, peers: Peers) -> None:
        super().__init__(daemon, tally, 0.05)
        self._peers = peers
        self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def run(self) -> None:
        """See ``PageThread``."""
        with self._sender:
            super().run()

    def calls(self, raw: RawSocket) -> Iterator[Callable[[], object]]:
        """See ``PageThread``."""
        peers = self._peers
        # Only the first call of a connection may find that the port is not free yet.
        yield lambda: self.call(raw, "osc", "listen", port=peers.osc_from)
        every = itertools.cycle(self._every(raw, peers))
        yield from itertools.islice(every, CALLS_PER_CONNECTION)

    def _every(self, raw: RawSocket, peers: Peers) -> list[Callable[[], object]]:
        def call(name: str, **params: object) -> Callable[[], object]:
            service, _, method = name.partition("/")
            return lambda: self.call(raw, service, method, **params)

        records = [{"level": "info", "scope": "page", "message": "a line"}]
        query = "SELECT name FROM places WHERE id = ?1"
        return [
            call("state/set", ns="host", key="k", value={"n": next(self._number)}),
            call("state/get", ns="host", key="k"),
            lambda: raw.send(text({"type": "logs", "records": records * 20})),
            call("logs/write", records=records * 5),
            call("notify/send", title="Door", content="Somebody is there"),
            call("osc/send", address="/a/b", args=[0.5], port=peers.osc_to),
            self._hear,
            call("osc/status"),
            call("sql/query", database="sample", sql=query, params=[2]),
            call("outbound/fetch", url=f"http://127.0.0.1:{peers.http}/"),
            call("plugins/list"),
            lambda: self._ping(raw),
            call("state/delete", ns="host", key="k"),
        ]

    def _hear(self) -> None:
        """Have the daemon receive a message, and push it."""
        message = b"/a/b\0\0\0\0,f\0\0\x3f\0\0\0"
        self._sender.sendto(message, ("127.0.0.1", self._peers.osc_from))

    def _ping(self, raw: RawSocket) -> None:
        raw.send(frame(PING, b"soak"))
        while (found := raw.read()) is not None and found[0] != PONG:
            if found[0] == PING:
                raw.send(frame(PONG, found[1]))
        assert found is not None, "a ping was not answered"
        self._tally.answered["ping"] += 1


class Author(PageThread):
    """Installs a plugin, builds and uninstalls it, each time it is asked to."""

    def __init__(self, daemon: Daemon, tally: Tally, url: str, plugin_id: str) -> None:
        super().__init__(daemon, tally, 0.0)
        self._url, self._plugin_id = url, plugin_id
        self._wanted = threading.Event()

    def begin(self) -> None:
        """Ask it to do so once more."""
        self._wanted.set()

    def end(self) -> None:
        """See ``PageThread``."""
        self._ended.set()
        self._wanted.set()
        super().end()

    def run(self) -> None:
        """See ``PageThread``."""
        while self._wanted.wait() and not self._ended.is_set():
            self._wanted.clear()
            with self.connected() as raw:
                self.call(raw, "plugins", "install", url=self._url)
                self.call(raw, "plugins", "check_updates")
                self.call(raw, "plugins", "build")
                self.call(raw, "plugins", "uninstall", id=self._plugin_id)


class _Answers(Answers):
    def do_GET(self) -> None:  # noqa: N802 - so named by http.server
        """Answer with a little JSON."""
        self.send_response(200)
        body = b'{"answer": 42}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def peers() -> Iterator[Peers]:
    """Run what the page's calls reach, until the block ends."""
    with serving(_Answers) as address, udp() as unread, udp() as free:
        listening = free.getsockname()[1]
        free.close()
        http = int(address.rpartition(":")[2])
        yield Peers(unread.getsockname()[1], listening, http)


def udp() -> socket.socket:
    """Bind a UDP socket to a free port of loopback."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind(("127.0.0.1", 0))
    return bound
