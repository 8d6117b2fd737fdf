"""The page that users of VRCNext have: what it sends, in the order in which it does."""

import time

from ..osc.liblo import oscsend
from ..ports import free_udp_port
from .daemon import HomeCase, running

PLUGINS = 60
START_SECONDS = 5.0
"""Twice of what takes no time; at five calls a second it would be thirteen seconds."""


class RealPageTests(HomeCase):
    def test_start(self):
        """Sixty plugins start as fast as they ask; a daemon's restart loses no OSC."""
        port = free_udp_port()
        with running(self.home, host="vrcnext") as daemon, daemon.page() as page:
            begun = time.monotonic()
            record = {"level": "info", "scope": "host", "message": "It has started"}
            page.send({"type": "logs", "records": [record]})
            names = ("host", "host", *(f"plugin:number-{n}" for n in range(PLUGINS)))
            kept = [page.result("state", "list", {"ns": ns}) for ns in names]
            page.result("plugins", "list")
            page.result("notify", "targets")
            begins = [page.result("osc", "listen", {"port": port}) for _ in range(3)]
            self.assertLess(time.monotonic() - begun, START_SECONDS)
            for reserved in (daemon.port, 42069):  # its own, and the overlay's
                params = {"address": "/a", "port": reserved}
                self.assertIn("port: not", page.refusal("osc", "send", params))
        self.assertEqual(kept, [{"entries": {}}] * (PLUGINS + 2))
        self.assertEqual([one["started"] for one in begins], [True, False, False])
        # It listens only once.
        with running(self.home, host="vrcnext") as daemon, daemon.page() as page:
            oscsend(port, "/avatar/parameters/Voice", "f", "0.5")
            while (push := page.receive())["event"] != "osc":
                pass
            self.assertEqual(push["data"]["address"], "/avatar/parameters/Voice")
            # What the page before it held is its own, as after a reload.
            self.assertTrue(page.result("osc", "stop")["stopped"])
