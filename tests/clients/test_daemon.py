"""
The packed TypeScript client and a real daemon.

In a browser the manager's tests have it: frozen, lost, replaced tokens, cancelling.
"""

import bridge

from ..whole.test_install import InstallCase, tree
from .client import client

KEY = {"ns": "host", "key": "a"}


class ClientTests(InstallCase):
    """Tests for pairing, calls, and operations that outlive a connection."""

    def test_pairing_and_calls(self) -> None:
        """Without a token, with a wrong one, and with the right one."""
        with self.daemon() as daemon, client(daemon.port, None) as page:
            self.assertEqual(page.state("unpaired"), {"reason": "missing"})
            for error, reason in (
                (page.refused("state/get", KEY), "missing"),
                (page.error(page.ask("pair", token="W" * 43)), "refused"),
            ):
                self.assertEqual(error["name"], "PairingError")
                self.assertEqual(error["reason"], reason)
            welcome = page.result(page.ask("pair", token=f" {daemon.token}\n"))
            self.assertEqual(welcome["version"], bridge.__version__)
            place = {"ns": "host", "key": "set"}
            page.call("state/set", {**place, "value": {"b": ["ü", 1.5, None]}})
            got = page.call("state/get", place)
            self.assertEqual(got, {"value": {"b": ["ü", 1.5, None]}})
            for method, params, code, prefix in (
                ("state/get", {"ns": "", "key": "a"}, "bad_request", ""),
                ("plugins/update", {"id": "bio"}, "bad_request", "not_installed"),
                ("state/none", {}, "unknown_method", ""),
            ):
                error = page.refused(method, params)
                self.assertEqual(error["name"], "RefusedError")
                self.assertEqual((error["code"], error["prefix"]), (code, prefix))

    def test_lost_socket(self) -> None:
        """The outcome comes by the next connection, and nothing is done twice."""
        params = {"url": self.publish("good", tree("good"))}
        with self.daemon("--dev") as daemon, client(daemon.port, daemon.token) as page:
            page.state("connected")
            asked = page.ask("operate", method="plugins/install", params=params)
            step = "awaiting_confirmation"
            page.until(lambda line: line.get("progress", {}).get("step") == step)
            page.ask("pair", token=daemon.token)
            self.assertEqual(page.result(asked)["plugin"]["id"], "good")
            self.assertEqual(page.states.count("connected"), 2)
