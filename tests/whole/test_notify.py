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

    def test_shown(self):
        """The overlay shows what is sent, and a desktop as soon as it has a server."""
        overlay = self.enterContext(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        overlay.bind(("127.0.0.1", 0))
        overlay.settimeout(PATIENCE_SECONDS)
        address = f"--overlay-addr=127.0.0.1:{overlay.getsockname()[1]}"
        screen = Session()
        self.addCleanup(screen.end)
        home = fresh_directory(self)
        with (
            running(
                home, address, more=screen.bus.environment, host="vrcnext"
            ) as daemon,
            daemon.page() as page,
        ):

            def targets() -> list[Any]:
                found: list[Any] = page.result("notify", "targets")["targets"]
                return found

            (target,) = targets()
            self.assertEqual((target["name"], target["health"]), ("overlay", "unknown"))
            described = page.welcome["services"]["notify"]["targets"]
            self.assertEqual(described, [target])
            for name in ("wayvr", "overlay"):
                sent = {"title": "Door", "content": name, "sinks": [name]}
                answer = page.result("notify", "send", sent)
                expected = {"ok": True, "delivered": [name], "failed": []}
                self.assertEqual(answer, expected)
                datagram = overlay.recv(65_535)
                toast = wayvr(datagram)
                self.assertEqual((toast.title, toast.content), ("Door", name))
                self.assertEqual(json.loads(datagram)["sourceApp"], "VRCNext")

            screen.serve_framed_notes()
            wait_until(lambda: len(targets()) == 2, "dunst did not start", pause=0.3)
            colour = (255, 0, 255)
            icon = text64(png(64, 64, bytes((*colour, 255))))
            shown = {"title": "Door", "icon": icon, "useBase64Icon": True}
            answer = page.result("notify", "send", shown)
            self.assertEqual(answer["delivered"], ["overlay", "freedesktop"])
            wait_until(lambda: screen.picture().count(colour) >= 200, "not drawn")
            health = [target["health"] for target in targets()]
            self.assertEqual(health, ["unknown", "up"])
        log = "".join(daemon.lines)
        self.assertIn("overlay [unknown]", log)
        self.assertIn("sink freedesktop is skipped", log)
        self.assertNotIn("Traceback", log)
        self.assertEqual(list((home / "data" / "icons").iterdir()), [])
