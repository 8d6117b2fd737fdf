"""Any frames, to the whole web stack: answered, refused or closed, and no defect."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import CloseReason
from bridge.protocol.limits import HELLO_SECONDS, SLOW_CLOSE_SECONDS

from ..rawsocket import CLOSE, PING, PONG, TEXT, frame, text
from ..strategies import broken, loose, requests
from .stack import TOKEN, Stack, cut_up, write_request
from .test_requestscontract import UPGRADE

HELLO = {"type": "hello", "token": TOKEN, "client": "fuzz/1.0.0"}
CLOSES = {(int(reason.code), str(reason)) for reason in CloseReason}

params = dict.fromkeys(("value", "text", "more"), loose)
calls = st.fixed_dictionaries(
    {
        "type": st.just("request"),
        "id": st.text(max_size=3) | loose,
        "service": st.just("sample"),
        "method": st.sampled_from(["echo", "note", "refuse", "brew", "Echo"]),
        "params": st.fixed_dictionaries({}, optional=params),
    }
)
"""Requests that are nearly, or quite, what the service takes."""

payloads = (
    broken
    | st.sampled_from([HELLO, {"type": "logs", "records": []}]).map(
        lambda value: json.dumps(value).encode("ascii")
    )
    | (requests | calls).map(lambda value: json.dumps(value).encode("utf-8", "replace"))
)

framed = st.builds(
    frame,
    st.sampled_from([TEXT] * 6 + list(range(16))),
    payloads,
    fin=st.sampled_from([True] * 4 + [False]),
    rsv=st.sampled_from([0] * 8 + [1, 4]),
    mask=st.sampled_from([True] * 8 + [False]),
)

streams = st.tuples(
    st.booleans(),
    st.lists(framed | st.binary(max_size=30), max_size=8).map(b"".join),
    st.integers(0, 40),
    st.lists(st.integers(1, 50), max_size=6),
)
"""Whether hello is sent, the bytes, how many are cut off, and how they are cut up."""


def frames_of(received: bytes) -> list[tuple[int, bytes]]:
    """Read what a server sent: whole, unfragmented, unmasked frames."""
    found = []
    while received:
        assert received[0] & 0xF0 == 0x80, "a fragment, or a reserved bit"
        length, start = received[1], 2
        if length >= 126:
            start = 4 if length == 126 else 10
            length = int.from_bytes(received[2:start])
        assert len(received) >= start + length, "half a frame"
        found.append((received[0] & 0x0F, received[start : start + length]))
        received = received[start + length :]
    return found


class FuzzTests(SynchronousTestCase):
    """Tests with anything.  A logged failure fails a test of Trial by itself."""

    def setUp(self) -> None:
        """Build one stack; every example has a connection of its own."""
        self.stack = Stack(rate=1e9, burst=10**9, requests=(1e9, 10**9))

    @given(streams)
    @settings(max_examples=200)
    def test_any_frames(self, stream: tuple[bool, bytes, int, list[int]]) -> None:
        """What is sent back is well formed, and the socket closes or goes on."""
        hello, sent, missing, cuts = stream
        _, transport = self.stack.connect()
        transport.protocol.dataReceived(write_request("GET", "/v1/ws", UPGRADE))
        transport.clear()
        if hello:
            transport.protocol.dataReceived(text(HELLO))
        sent = sent[: max(0, len(sent) - missing)]
        for piece in cut_up(sent, cuts):
            transport.protocol.dataReceived(piece)
        self.stack.clock.advance(0)
        transport.protocol.dataReceived(frame(PING, b"alive?"))
        self.stack.clock.advance(0)
        got = frames_of(transport.value())
        self.check(got)
        self.stack.clock.advance(HELLO_SECONDS + SLOW_CLOSE_SECONDS)
        gone = transport.disconnecting or transport.aborting
        if not (gone or any(opcode == CLOSE for opcode, _ in got)):
            self.check(frames_of(transport.value()))
        transport.protocol.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(len(self.stack.hub._subscribers), 0)
        self.assertEqual(self.stack.sockets._sockets_waiting, {})

    def check(self, got: list[tuple[int, bytes]]) -> None:
        for number, (opcode, payload) in enumerate(got):
            if opcode == TEXT:
                self.assertIn(
                    json.loads(payload)["type"], ("welcome", "response", "push")
                )
            elif opcode == CLOSE:
                self.assertEqual(number, len(got) - 1)
                closed = int.from_bytes(payload[:2]), payload[2:].decode("ascii")
                if closed not in CLOSES:  # then it echoes a close of the peer's
                    self.assertEqual(closed[1], "")
            else:
                self.assertEqual(opcode, PONG)
