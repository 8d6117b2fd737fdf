"""Evaluating in the page: a real daemon, real sockets, and the command."""

import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from twisted.trial.unittest import SynchronousTestCase

from .daemon import running


class Asked(threading.Thread):
    """A call of ``remote/eval`` by HTTP, under way."""

    def __init__(self, daemon, **params):
        super().__init__()
        self.daemon_process, self.params = daemon, params
        self.start()

    def run(self):
        """Wait for the answer."""
        self.got = self.daemon_process.call_by_http("remote", "eval", self.params)

    def answer(self):
        """Give the answer."""
        self.join()
        return self.got


def push_to(page):
    """Wait for the page to be asked; gives the id and the code."""
    while (frame := page.receive()).get("event") != "remote":
        pass
    return frame["data"]


@pytest.mark.whole
class SocketTests(SynchronousTestCase):
    """Tests for evaluations over TCP, the test being the page."""

    def setUp(self):
        """An empty home directory."""
        directory = TemporaryDirectory(prefix="bridge-home-")
        self.addCleanup(directory.cleanup)
        self.home = Path(directory.name)

    def test_attack_remote_without_dev(self):
        """Without ``--dev`` there is no such service, nor is it listed."""
        with running(self.home) as daemon, daemon.page() as page:
            self.assertNotIn("remote", page.welcome["services"])
            for method in ("eval", "result"):
                got = page.call("remote", method, {"code": "return 1"})
                self.assertEqual(got["error"]["code"], "unknown_service")
            status, _, _ = daemon.http("POST", "/v1/remote/eval", {"code": "1"})
            self.assertEqual(status, 404)

    def test_evaluations(self):
        """One page answers what it was asked; one that leaves is not waited for."""
        with running(self.home, "--dev") as daemon:
            nobody = Asked(daemon, code="return 1").answer()
            self.assertEqual(nobody["error"]["code"], "unavailable")
            with daemon.page() as page:
                asked = Asked(daemon, code="return 1")
                pushed = push_to(page)
                self.assertEqual(pushed["code"], "return 1")
                with daemon.page() as other:
                    forged = {"id": pushed["id"], "ok": True, "value": "forged"}
                    got = other.result("remote", "result", forged)
                    self.assertEqual(got, {"delivered": False})
                answer = {"id": pushed["id"], "ok": True, "value": None}
                got = page.result("remote", "result", answer)
                self.assertEqual(got, {"delivered": True})
                self.assertEqual(asked.answer(), {"ok": True, "value": None})
                asked = Asked(daemon, code="return 2", timeoutMs=60_000)
                push_to(page)
            self.assertEqual(asked.answer()["error"]["code"], "unavailable")

    def test_attack_flood_of_results(self):
        """A page that floods results is paced, and holds up no other."""
        with running(self.home, "--dev") as daemon, daemon.page() as page:
            for n in range(1000):
                frame = {"type": "request", "id": str(n), "service": "remote"}
                answer = {"id": "A" * 22, "ok": True, "value": n}
                page.send({**frame, "method": "result", "params": answer})
            with daemon.page() as other:
                self.assertEqual(
                    other.result("state", "list", {"ns": "a"})["entries"], {}
                )
            kinds = set()
            for _ in range(1000):
                got = page.receive()
                kinds.add(got["error"]["code"] if not got["ok"] else "delivered: false")
            self.assertLessEqual(kinds, {"rate_limited", "delivered: false"})
