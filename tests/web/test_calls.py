"""What a call costs, from its whole frame to its answer, in counts and not in time."""

import autobahn
from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock

import bridge
from bridge.services.state import State
from bridge.store.state import Put
from bridge.store.store import Store

from ..counting import calls_of
from ..directories import fresh_directory
from ..rawsocket import text
from .stack import Connection
from .websocket.test_socket import RawCase

MOST_FUNCTIONS = 70
"""How many of our functions a call may call, itself included."""

_GET = {"service": "state", "method": "get", "params": {"ns": "host", "key": "a"}}
REQUEST = text({"type": "request", "id": "12", **_GET})


class CallTests(RawCase):
    def setUp(self) -> None:
        super().setUp()
        path = fresh_directory(self) / "state.json"
        store = Store.open(path, execute)
        self.successResultOf(store.commit([Put("host", "a", "x" * 200)]))
        self.stack.registry.register("state", State(store, str(path)))
        self.receive(REQUEST)  # the first one compiles the readers of its classes

    def test_calls(self) -> None:
        """
        One calls so many functions, none of Autobahn's, and waits for nothing.

        The answers are written at once; the reactor sends those of a turn together.
        """
        for together in (1, 16):
            self.transport.clear()
            calls = calls_of(lambda: self.receive(REQUEST * together))  # noqa: B023
            self.assertEqual(self.transport.value().count(b'"ok":true'), together)
            self.assertLessEqual(calls.within(bridge), together * MOST_FUNCTIONS)
            self.assertEqual(calls.within(autobahn), 0)
            self.assertEqual(calls.of(Connection.write), together)
            self.assertEqual(calls.of(Deferred.__init__), 0)
            self.assertEqual(calls.of(Clock.callLater), 0)
