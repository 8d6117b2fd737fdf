"""Tests for the parameters of every method, as the protocol describes them."""

from collections.abc import Iterator
from typing import Any, Final

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError
from bridge.rpc.dispatch import read_arguments
from bridge.rpc.registry import Method, methods_of

from .found import services

ID: Final = "A" * 22
PAGE: Final[dict[str, dict[str, Any]]] = {
    "logs/write": {"records": []},
    "notify/send": {"title": "t", "sinks": ["wayvr"], "overrides": {"wayvr": {}}},
    "osc/send": {"address": "/a", "args": [{"kind": "float", "value": 1}]},
    "outbound/fetch": {"url": "u", "method": "GET", "headers": {"a": "b"}, "body": "x"},
    "plugins/about": {"id": "i"},
    "plugins/cancel": {"operation": "op"},
    "plugins/forget_key": {"keyId": "k"},
    "plugins/install": {"url": "u"},
    "plugins/uninstall": {"id": "i"},
    "plugins/update": {"id": "i"},
    "remote/eval": {"code": "1"},
    "remote/result": {"id": ID, "ok": True, "value": 1},
    "sql/query": {"database": "d", "sql": "SELECT 1", "params": [1]},
    "sql/execute": {"database": "d", "sql": "SELECT 1"},
    "state/delete": {"ns": "host", "key": "k"},
    "state/get": {"ns": "host", "key": "k"},
    "state/list": {"ns": "host"},
    "state/set": {"ns": "host", "key": "k", "value": {"a": 1}},
}
"""What a page sends, by method; nothing for the others."""


def methods() -> Iterator[tuple[str, Method]]:
    """Yield every method, with the name of its service before its own."""
    for service, kind in services().items():
        for method in methods_of(kind):
            yield f"{service}/{method.name}", method


class ParameterTests(SynchronousTestCase):
    """Tests for what is accepted, and what is not."""

    def test_what_pages_send_is_accepted_and_misspelt_is_refused(self) -> None:
        """A parameter that a method does not know is an error, in every method."""
        for name, method in methods():
            good = PAGE.get(name, {})
            read_arguments(good, method.params)
            with self.assertRaises(BridgeError, msg=name) as caught:
                read_arguments({**good, "timeoutMS": 1}, method.params)
            self.assertEqual(caught.exception.message, "unknown field", name)
