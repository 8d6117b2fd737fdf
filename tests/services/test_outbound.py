"""Tests for bridge.services.outbound: the shapes, and the order of refusals."""

from typing import Any

from bridge.protocol.errors import BridgeError, Code
from bridge.rpc import Registry
from bridge.services.outbound import Outbound

from ..outbound.servers import OutboundCase


class OutboundTests(OutboundCase):
    def message(self, params: Any) -> str:
        """Call what is refused without anything being sent."""
        error = self.failureResultOf(self.calling(params), BridgeError).value
        self.assertEqual(error.code, Code.BAD_REQUEST)
        return error.message

    def test_describe(self) -> None:
        """The description has what a page reads of it."""
        registry = Registry()
        registry.register("outbound", Outbound(self.fetcher()))
        described = registry.describe()["outbound"]
        self.assertEqual(described.pop("methods"), ["fetch"])
        self.assertTrue(described.pop("summary"))
        self.assertTrue(described.pop("redirects").startswith("not followed"))
        self.assertIn("cross-origin", described.pop("reach"))
        self.assertEqual(
            described,
            {
                "requestMethods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
                "maxRequestBytes": 1048576,
                "maxResponseBytes": 16777216,
                "maxHeaders": 32,
                "defaultTimeoutMs": 30000,
                "maxTimeoutMs": 120000,
                "bodies": "text",
            },
        )

    def test_order(self) -> None:
        """Shape, URL, address, method, and then the rest."""
        bad: dict[str, Any] = {"method": "X", "headers": {"host": "x"}}
        self.assertIn("type", self.message({**bad, "url": "x", "body": 1}))
        self.assertIn("url: must", self.message({**bad, "url": "x"}))
        local = self.message({**bad, "url": "http://127.0.0.1/"})
        self.assertIn("not a public address", local)
        self.assertIn("method: ", self.message({**bad, "url": "http://1.1.1.1/"}))
        bad["method"] = "get"
        self.assertIn("headers: ", self.message({**bad, "url": "http://1.1.1.1/"}))
