"""
What a call costs in the process: from a whole frame to its answer written.

Run ``python -m benchmarks.call``.  The frame is one of a page (``state/get`` of a value
of 200 bytes, masked); the socket is the daemon's, on a transport that keeps nothing.
No kernel takes part.  The best of several rounds is what the machine's other work
disturbed least.  Peers read and write the same JSON, without a socket: ``json`` is
orjson alone, which is what no call can do without.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import orjson
from twisted.internet.defer import Deferred, execute

from bridge.protocol.frames import read_frame
from bridge.protocol.strictjson import loads
from bridge.protocol.wire import converter, structure
from bridge.services.notify import Sending
from bridge.services.state import State
from bridge.store import Put, Store
from tests.web.stack import HOST, TOKEN, Stack

ROUNDS: Final = 30
CALLS: Final = 300
MASK: Final = b"\x17\xa5\x3c\xf0"
VALUE: Final = {"text": "x" * 180, "count": 1}
REQUEST: Final = orjson.dumps(
    {
        "type": "request",
        "id": "12",
        "service": "state",
        "method": "get",
        "params": {"ns": "host", "key": "a"},
    }
)
NOTIFICATION: Final = {
    "title": "Ana is online",
    "content": "She is in The Great Pug with five others.",
    "timeoutSecs": 5,
    "icon": "default",
    "useBase64Icon": False,
    "sourceApp": "VRCNext",
    "sound": True,
    "volume": 0.5,
    "audioPath": "default",
    "height": 170,
    "opacity": 0.9,
    "urgency": "normal",
    "alwaysShow": False,
    "sinks": ["xsoverlay", "ovrtoolkit"],
}


def main() -> int:
    """Print what each stage takes."""
    with TemporaryDirectory() as directory:
        stack = open_stack(Path(directory) / "state.json")
        stages = {
            "a call, from its frame to its answer": of_a_call(stack, 1),
            "a call, of 16 in one packet": of_a_call(stack, 16),
            "its frame, read": best(lambda: read_frame(REQUEST)),
            "a notification, structured": of_a_notification(),
            "json: both texts of the call, by orjson alone": of_json(),
        }
    for name, microseconds in stages.items():
        print(f"{name:<48} {microseconds:8.2f} us")
    return 0


def best(call: Callable[[], Any], calls: int = CALLS) -> float:
    """Return the microseconds of one call, in the best round."""
    rounds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        rounds.append((time.perf_counter() - begun) / calls * 1e6)
    return min(rounds)


def open_stack(path: Path) -> Stack:
    """Open a daemon's web, with a store of one value and budgets for anything."""
    stack = Stack(requests=(1e9, 10**9))
    store = Store.open(path, execute)
    finished(store.commit([Put("host", "a", VALUE)]))
    stack.registry.register("state", State(store, str(path)))
    return stack


def finished(waiting: Deferred[Any]) -> None:
    """Check that it is done."""
    done: list[Any] = []
    waiting.addCallback(done.append)
    assert done


def of_a_call(stack: Stack, together: int) -> float:
    """Return the time of one call on an authenticated socket."""
    _, transport = stack.connect()
    transport.protocol.dataReceived(
        b"GET /v1/ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % HOST.encode("ascii")
    )
    hello = {"type": "hello", "token": TOKEN, "client": "page/1.0.0"}
    transport.protocol.dataReceived(frame(orjson.dumps(hello)))
    written: list[bytes] = []
    wire: Any = transport
    wire.write = written.append
    packet = frame(REQUEST) * together

    def call() -> None:
        transport.protocol.dataReceived(packet)

    call()
    stack.clock.advance(0)
    assert b"".join(written).count(b'"ok":true') == together, written
    wire.write = lambda data: None
    return best(call, CALLS // together) / together


def frame(text: bytes) -> bytes:
    """Return a page's frame (RFC 6455, 5.2)."""
    masked = bytes(byte ^ MASK[i % 4] for i, byte in enumerate(text))
    if len(text) < 126:
        return bytes([0x81, 0x80 | len(text)]) + MASK + masked
    return bytes([0x81, 0xFE]) + len(text).to_bytes(2) + MASK + masked


def of_a_notification() -> float:
    """Return the time of checking one with 14 fields and none that is wrong."""
    text = orjson.dumps(NOTIFICATION)
    return best(lambda: structure(converter, loads(text), Sending))


def of_json() -> float:
    """Return the time without which no call is possible."""
    answer = {"type": "response", "id": "12", "ok": True, "result": {"value": VALUE}}
    return best(lambda: (orjson.loads(REQUEST), orjson.dumps(answer)))


if __name__ == "__main__":
    sys.exit(main())
