"""Notifications as a page and a person see them: a real daemon, a real server."""

import json
import socket
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from tests.freedesktop.session import Session
from tests.sinks.overlays import wayvr
from tests.sinks.samples import png, text64

from ..directories import fresh_directory
from ..waiting import wait_until
from .daemon import PATIENCE_SECONDS, running


class NotifyTests(SynchronousTestCase):
    """Tests for the notify service of a whole daemon."""

    def setUp(self):
        """An empty home, and an overlay that listens."""
        self.home = fresh_directory(self)
        self.overlay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.overlay.close)
        self.overlay.bind(("127.0.0.1", 0))
        self.overlay.settimeout(PATIENCE_SECONDS)
        self.address = f"--overlay-addr=127.0.0.1:{self.overlay.getsockname()[1]}"

    def test_overlay(self):
        """A page's notification is shown by the overlay, under either name."""
        with (
            running(self.home, "--host=vrcnext", self.address) as daemon,
            daemon.page() as page,
        ):
            (target,) = page.result("notify", "targets")["targets"]
            self.assertEqual((target["name"], target["health"]), ("overlay", "unknown"))
            described = page.welcome["services"]["notify"]["targets"]
            self.assertEqual(described, [target])
            for name in ("wayvr", "overlay"):
                answer = page.result(
                    "notify",
                    "send",
                    {"title": "Door", "content": name, "sinks": [name]},
                )
                expected = {"ok": True, "delivered": [name], "failed": []}
                self.assertEqual(answer, expected)
                datagram = self.overlay.recv(65_535)
                toast = wayvr(datagram)
                self.assertEqual((toast.title, toast.content), ("Door", name))
                self.assertEqual(json.loads(datagram)["sourceApp"], "VRCNext")
        log = "".join(daemon.lines)
        self.assertIn("overlay [unknown]", log)
        self.assertIn("sink freedesktop is skipped", log)
        self.assertNotIn("Traceback", log)

    def test_desktop(self):
        """A notification with a text, an icon and an urgency is on the screen."""
        screen = Session()
        self.addCleanup(screen.end)
        screen.serve_framed_notes()
        colour = (255, 0, 255)
        with (
            running(self.home, self.address, more=screen.bus.environment) as daemon,
            daemon.page() as page,
        ):

            def targets() -> list[Any]:
                found: list[Any] = page.result("notify", "targets")["targets"]
                return found

            wait_until(lambda: len(targets()) == 2, "dunst did not start", pause=0.3)
            answer = page.result(
                "notify",
                "send",
                {
                    "title": "Somebody is at the door",
                    "content": "Shall I let <b>them</b> in?",
                    "icon": text64(png(64, 64, bytes((*colour, 255)))),
                    "useBase64Icon": True,
                    "urgency": "critical",
                    "overrides": {"overlay": {"icon": "", "useBase64Icon": False}},
                },
            )
            self.assertEqual(answer["delivered"], ["overlay", "freedesktop"])
            self.assertNotIn("icon", json.loads(self.overlay.recv(65_535)))
            wait_until(
                lambda: min(map(screen.picture().count, (colour, (0, 255, 0)))) >= 200,
                "it was not drawn",
            )
            screen.save("notify-whole.png")
            health = [target["health"] for target in targets()]
            self.assertEqual(health, ["unknown", "up"])
        self.assertEqual(list((self.home / "data" / "icons").iterdir()), [])
