"""What a call costs, from its whole frame to its answer, in counts and not in time."""

from __future__ import annotations

import autobahn
from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock

import bridge
from bridge.services.state import State
from bridge.store import Put
from bridge.store.store import Store

from ..counting import Calls, calls_of
from ..directories import fresh_directory
from ..rawsocket import text
from .stack import Connection
from .websocket.test_framing import RawCase

MOST_FUNCTIONS = 70
"""How many of our functions a call may call, itself included."""

TOGETHER = 16
REQUEST = text(
    {
        "type": "request",
        "id": "12",
        "service": "state",
        "method": "get",
        "params": {"ns": "host", "key": "a"},
    }
)


class CallTests(RawCase):
    """Tests for what a call of ``state/get`` costs."""

    def setUp(self) -> None:
        """Add a store of one value."""
        super().setUp()
        path = fresh_directory(self) / "state.json"
        store = Store.open(path, execute)
        self.successResultOf(store.commit([Put("host", "a", "x" * 200)]))
        self.stack.registry.register("state", State(store, str(path)))
        self.receive(REQUEST)  # the first one compiles the readers of its classes

    def calls(self, packet: bytes, answers: int) -> Calls:
        """Count what a packet calls that is answered at once."""
        self.transport.clear()
        calls = calls_of(lambda: self.receive(packet))
        self.assertEqual(self.transport.value().count(b'"ok":true'), answers)
        return calls

    def test_one(self) -> None:
        """It calls so many functions, waits for nothing, and is written at once."""
        calls = self.calls(REQUEST, 1)
        self.assertLessEqual(calls.within(bridge), MOST_FUNCTIONS)
        self.assertEqual(calls.of(Connection.write), 1)
        self.assertEqual(calls.of(Deferred.__init__), 0)
        self.assertEqual(calls.of(Clock.callLater), 0)

    def test_general_path(self) -> None:
        """A short text passes by Autobahn's reader of frames."""
        self.assertEqual(self.calls(REQUEST, 1).within(autobahn), 0)

    def test_packet(self) -> None:
        """The answers to the calls of a packet are written together."""
        calls = self.calls(REQUEST * TOGETHER, TOGETHER)
        self.assertLessEqual(calls.within(bridge), TOGETHER * MOST_FUNCTIONS)
        self.assertEqual(calls.of(Connection.write), 1)
        self.assertEqual(calls.of(Deferred.__init__), 0)
        self.assertEqual(calls.of(Clock.callLater), 0)
