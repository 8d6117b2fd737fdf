"""Fetches through a real daemon, asked for by a page."""

from .daemon import HomeCase, running


class RefusedTests(HomeCase):
    def test_attack_own_ports(self) -> None:
        """A page can't make the daemon ask this machine, not even look at a plugin."""
        with (
            running(self.home, "--rate=100", "--burst=100") as daemon,
            daemon.page() as page,
        ):
            self.assertEqual(page.welcome["services"]["outbound"]["bodies"], "text")
            port = daemon.port
            # Others are compared in tests/http/test_target.py.
            for host in ("127.0.0.1", "localhost", "0x7f.1", "192.168.1.1"):
                url = f"http://{host}:{port}/v1/health"
                message = page.refusal("outbound", "fetch", {"url": url})
                self.assertEqual(message, "url: not a public address", host)
                url = f"https://{host}:{port}/x.git"
                message = page.refusal("plugins", "preview", {"url": url})
                self.assertTrue(message.startswith("private_address: "), message)
            # A machine without internet has no route, and no answer.
            wanted = {"url": "https://1.1.1.1/", "timeoutMs": 100}
            got = page.call("outbound", "fetch", wanted)
            self.assertTrue(got["ok"] or got["error"]["code"] == "unavailable")

    def test_public_clones_only(self) -> None:
        """With that option no clone reaches this machine, even if it was confirmed."""
        for method, options, words in (
            ("install", ["--dev"], "clone_failed: the host is not on the public"),
            ("preview", [], "private hosts are not allowed"),
        ):
            daemon = running(self.home, "--public-clones-only", *options)
            with daemon as started, started.page() as page:
                url = {"url": f"https://127.0.0.1:{started.port}/x.git"}
                self.assertIn(words, page.refusal("plugins", method, url))
