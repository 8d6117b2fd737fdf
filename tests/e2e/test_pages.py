"""
What pages of other sites reach, in a real browser: everything a page can send.

One table of outcomes for each kind of page.  Each knows the right token, which it never
would; so what holds is not the token but the guard.
"""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..webserver import Relay, serving_directory
from .browser import Browser, open_browser
from .daemon import Daemon, HomeCase, running

HERE = Path(__file__).parent
REBINDING_HOST = "127.0.0.2"
RESOLVER = (
    "--host-resolver-rules=MAP evil.example 127.0.0.1,"
    f"MAP rebound.example {REBINDING_HOST}"
)
NEVER_READ = {
    "image": "error",
    "script": "error",
    "module": "error",
    "style": "error",
    "events": "error",
    # That something was queued does not mean that it was done.
    "beacon": "queued true",
    "beacon json": "queued true",
}
FOREIGN = {
    **NEVER_READ,
    "simple": "blocked",
    "no-cors": "blocked",
    "no-cors post": "blocked",
    "text": "blocked",
    "json": "blocked",
    "token": "blocked",
    "describe": "blocked",
    "form": "unreadable",
    "form text": "unreadable",
    "form multipart": "unreadable",
    "frame": "unreadable",
    "socket": "closed 1006",
    "worker": "blocked",
}
OUTCOMES = {
    # A page of this machine may ask; but what it may do, the token decides.
    "local": {
        **FOREIGN,
        "simple": "read 200",
        "text": "read 401",
        "json": "read 401",
        "token": "read 200",
        "describe": "read 200",
        "socket": "open",
        "worker": "read 200",
    },
    "foreign": FOREIGN,
    "sandbox": FOREIGN,
    # A rebound page is of one origin with the daemon, as browsers see it, and reads its
    # refusals; nothing else.
    "rebound": {
        **NEVER_READ,
        "simple": "read 403",
        "no-cors": "read 403",
        "no-cors post": "read 403",
        "text": "read 403",
        "json": "read 403",
        "token": "read 403",
        "describe": "read 403",
        "form": "read text",
        "form text": "read text",
        "form multipart": "read text",
        "frame": "read text",
        "socket": "closed 1006",
        "worker": "read 403",
    },
}


class PageTests(HomeCase):
    def outcomes(self, browser: Browser, daemon: Daemon) -> dict[str, Any]:
        """Let each page try, and give what each has learned."""
        own = f"http://127.0.0.1:{daemon.port}"
        rebound = f"http://rebound.example:{daemon.port}"
        found = {}
        with serving_directory(HERE) as address:
            port = int(address.rpartition(":")[2])
            ports = {True: port, False: daemon.port}
            relay = Relay(
                lambda head: ports[head.startswith(b"GET /attack")],
                REBINDING_HOST,
                daemon.port,
            )
            self.addCleanup(relay.close)
            for place, site, target, call in (
                ("local", f"http://localhost:{port}", own, "tryAll"),
                ("foreign", f"http://evil.example:{port}", own, "tryAll"),
                ("sandbox", f"http://localhost:{port}", own, "tryAllInSandbox"),
                ("rebound", rebound, rebound, "tryAll"),
            ):
                given = quote(f"{target} {daemon.token} {place}")
                browser.open(f"{site}/attack.html?{place}#{given}")
                found[place] = browser.chrome.execute_async_script(
                    f"{call}().then(arguments[arguments.length - 1])"
                )
        return found

    def test_attack_every_way_a_page_can_send(self) -> None:
        """What each kind of page learns; and no call but the allowed one is made."""
        options = "--dev", "--rate=1000", "--burst=1000"
        with running(self.home, *options) as daemon, open_browser(RESOLVER) as browser:
            browser.chrome.set_script_timeout(240)
            found = self.outcomes(browser, daemon)
            settings = daemon.call_by_http("state", "list", {"ns": "host"})
        self.maxDiff = None
        for place, expected in OUTCOMES.items():
            self.assertEqual(found[place], expected, place)
        self.assertEqual(settings, {"entries": {"local.token": 1}})
