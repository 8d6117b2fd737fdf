"""The socket of a real daemon, seen from the page's side."""

import time
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..schemas.checking import DOCUMENT
from .daemon import running


def documented():
    """The names of the services in the protocol's document."""
    return set(DOCUMENT["services"])


class SocketTests(SynchronousTestCase):
    """Tests for hello, calls and refusals over TCP."""

    def setUp(self):
        """A daemon, shared by the steps of a test."""
        self.home = fresh_directory(self)

    def test_services_are_an_object_by_name(self):
        """``welcome`` has the version, and the services by name, as pages expect."""
        with running(self.home) as daemon, daemon.page() as page:
            self.assertEqual(page.welcome["type"], "welcome")
            self.assertEqual(set(page.welcome["services"]), documented() - {"remote"})

    def test_burst_is_paced_and_answered(self):
        """More calls than the burst are all answered, in order, when it is a few."""
        with running(self.home) as daemon, daemon.page() as page:
            for number in range(16):
                page.send(
                    {
                        "type": "request",
                        "id": str(number),
                        "service": "state",
                        "method": "delete",
                        "params": {"ns": "host", "key": "k"},
                    }
                )
            answered = [page.receive() for _ in range(16)]
        self.assertEqual([a["id"] for a in answered], [str(n) for n in range(16)])
        self.assertTrue(all(a["ok"] for a in answered))

    def test_start_of_a_page_with_sixty_plugins(self):
        """What a page reads at its start is answered at once, at the default rate."""
        with running(self.home) as daemon, daemon.page() as page:
            page.result("plugins", "list")  # loads what answers it
            begun = time.monotonic()
            for _ in range(2):
                page.result("state", "list", {"ns": "host"})
            for number in range(60):
                page.result("state", "list", {"ns": f"plugin:p{number}"})
                if number % 6 == 0:
                    page.result("notify", "targets")
            page.result("plugins", "list")
            self.assertLess(time.monotonic() - begun, 2.5)

    def test_logs_are_kept_and_never_answered(self):
        """A ``logs`` frame ends in the file; the next frame is a response."""
        records = [{"level": "info", "scope": "host", "message": "a line", "ts": 1}]
        with running(self.home) as daemon, daemon.page() as page:
            page.send({"type": "logs", "records": records})
            info = page.result("logs", "info")
            self.assertEqual(info["ok"], True)
            self.assertEqual([p for p in page.pushes if p["event"] == "error"], [])
        self.assertIn("[host] a line", Path(info["location"]).read_text("utf-8"))
