"""The page that users of VRCNext have: what it sends, in the order in which it does."""

import time

from ..osc.liblo import oscsend
from ..ports import free_udp_port
from .daemon import HomeCase, running

PLUGINS = 60
START_SECONDS = 5.0
"""Twice of what takes no time; at five calls a second it would be thirteen seconds."""


def start(page, port):
    """Send what the page does once it is welcome; return what it was answered."""
    record = {"level": "info", "scope": "host", "message": "The page has started"}
    page.send({"type": "logs", "records": [record]})
    answers = [page.result("state", "list", {"ns": "host"}) for _ in range(2)]
    for number in range(PLUGINS):
        ns = f"plugin:number-{number}"
        answers.append(page.result("state", "list", {"ns": ns}))
    answers.append(page.result("plugins", "list"))
    answers.append(page.result("notify", "targets"))
    answers += [page.result("osc", "listen", {"port": port}) for _ in range(3)]
    return answers


class RealPageTests(HomeCase):
    def test_start(self):
        """Sixty plugins start as fast as they ask; a daemon's restart loses no OSC."""
        port = free_udp_port()
        with running(self.home, host="vrcnext") as daemon, daemon.page() as page:
            begun = time.monotonic()
            answers = start(page, port)
            self.assertLess(time.monotonic() - begun, START_SECONDS)
            for reserved in (daemon.port, 42069):  # its own, and the overlay's
                params = {"address": "/a", "port": reserved}
                self.assertIn("port: not", page.refusal("osc", "send", params))
        self.assertEqual(answers[: PLUGINS + 2], [{"entries": {}}] * (PLUGINS + 2))
        self.assertEqual([one["started"] for one in answers[-3:]], [True, False, False])
        # It listens only once.
        with running(self.home, host="vrcnext") as daemon, daemon.page() as page:
            oscsend(port, "/avatar/parameters/Voice", "f", "0.5")
            while (push := page.receive())["event"] != "osc":
                pass
            self.assertEqual(push["data"]["address"], "/avatar/parameters/Voice")
            # What the page before it held is its own, as after a reload.
            self.assertTrue(page.result("osc", "stop")["stopped"])
