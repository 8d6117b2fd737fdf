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
    **dict.fromkeys(("image", "script", "module", "style", "events"), "error"),
    # That something was queued does not mean that it was done.
    **dict.fromkeys(("beacon", "beacon json"), "queued true"),
    "socket": "closed 1006",
}
FETCHES = (
    *("simple", "no-cors", "no-cors post", "text", "json", "token", "describe"),
    "worker",
)
FORMS = ("form", "form text", "form multipart", "frame")
FOREIGN = {
    **NEVER_READ,
    **dict.fromkeys(FETCHES, "blocked"),
    **dict.fromkeys(FORMS, "unreadable"),
}
OUTCOMES = {
    # A page of this machine may ask; but what it may do, the token decides.
    "local": {
        **FOREIGN,
        **dict.fromkeys(("simple", "token", "describe", "worker"), "read 200"),
        **dict.fromkeys(("text", "json"), "read 401"),
        "socket": "open",
    },
    "foreign": FOREIGN,
    "sandbox": FOREIGN,
    # A rebound page is of one origin with the daemon, as browsers see it, and reads its
    # refusals; nothing else.
    "rebound": {
        **NEVER_READ,
        **dict.fromkeys(FETCHES, "read 403"),
        **dict.fromkeys(FORMS, "read text"),
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
