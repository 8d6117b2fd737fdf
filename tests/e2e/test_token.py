"""The pairing token of a real daemon: where it must never be seen."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from bridge.cli.session import connect
from bridge.cli.terminal import CommandError
from bridge.settings.host import locate

from .daemon import Daemon, HomeCase, Page, running, set_up
from .test_install import put

WRONG = "W" * 43
HELLO = {"type": "hello", "client": "test/1.0.0"}
# A bundler that prints what it was started with, and fails.
TELLING = b"""#!/bin/sh
cat /proc/$$/cmdline /proc/$$/environ > %s
echo "the bundler says: no"
exit 1
"""


class TokenTests(HomeCase):
    """Tests for what a daemon gives away, at its most talkative."""

    def setUp(self) -> None:
        super().setUp()
        set_up(self.home)
        self.kept: dict[str, str] = {}

    def note(self, what: str, kept: object) -> None:
        text = kept if type(kept) is str else json.dumps(kept, default=str)
        self.kept[f"{len(self.kept)} {what}"] = text

    def greet(self, daemon: Daemon, token: str) -> None:
        """Send hello on a socket, and keep the answer."""
        page = Page(daemon.port)
        page.send({**HELLO, "token": token})
        self.note("hello", page.closed_with())
        page.close()

    def ask(self, daemon: Daemon, method: str, path: str, token: str) -> None:
        """Ask by HTTP with a token, and keep all of the answer."""
        for scheme in ("Bearer", "Basic"):
            headers = {"Authorization": f"{scheme} {token}"}
            headers["Content-Type"] = "application/json"
            body = {"ns": "host", "token": token} if method == "POST" else None
            self.note(path, daemon.http(method, path, body, headers))

    def use(self, daemon: Daemon, page: Page) -> None:
        """Do all there is to do with a token, rightly and wrongly."""
        token = daemon.token
        self.note("welcome", page.welcome)
        self.greet(daemon, WRONG)
        self.greet(daemon, token[:-1])
        for offered in (token, token[:-1], WRONG):
            for method, path in (
                ("GET", "/v1/describe"),
                ("GET", "/v1/health"),
                ("GET", f"/v1/{offered}"),
                ("POST", "/v1/state/list"),
                ("POST", f"/v1/state/list?token={offered}"),
                ("POST", f"/v1/{offered}/{offered}"),
            ):
                self.ask(daemon, method, path, offered)
        url = f"https://127.0.0.1:1024/{token}.git"
        self.note("install", page.call("plugins", "install", {"url": url}))
        self.note("call", page.call(token[:9].lower(), "list", {"token": token}))
        page.result("state", "set", {"ns": "host", "key": "k", "value": 1})
        record = {"level": "info", "scope": "x", "message": f"I am {token}", "ts": 1}
        page.send({"type": "logs", "records": [record]})
        self.note("info", page.call("logs", "info"))

    def note_processes(self, daemon: Daemon) -> None:
        """Keep what any program of the user can see of the daemon's processes."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                # The second word after the name in parentheses is the parent.
                parent = process.joinpath("stat").read_text().rpartition(")")[2]
                if str(daemon.process.pid) in (process.name, parent.split()[1]):
                    for part in ("cmdline", "environ", "comm"):
                        self.note(part, process.joinpath(part).read_bytes().decode())

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Give every file below the home, but the one that holds the token."""
        for path in self.home.rglob("*"):
            if path.is_file() and path != self.data / "token":
                yield str(path.relative_to(self.home)), path.read_bytes()

    def test_attack_looking_for_the_token_everywhere(self) -> None:
        """Neither the old nor the new token is in any output of the daemon."""
        options = "--dev", "--log=debug", "--rate=1000", "--burst=1000"
        with running(self.home, *options) as daemon:
            old = daemon.token
            with daemon.page() as page:
                self.use(daemon, page)
                self.assertTrue(page.result("plugins", "build")["ok"])
                # Another bundler prints what it is given.
                telling = TELLING % bytes(self.home / "bundler-was-given")
                put(self.data / "bin" / "esbuild", telling)
                self.note("build", page.result("plugins", "build"))
                asking = connect(locate("reference", self.data, None))
                self.addCleanup(asking.close)
                rotated = daemon.rotate_token(self.home)
                self.assertEqual(page.closed_with(), (1001, "token_rotated"))
                with self.assertRaises(CommandError):
                    asking.call("plugins", "list")
                self.note("pushes", page.pushes)
            new = daemon.token
            self.assertEqual(rotated, new)
            self.greet(daemon, old)
            self.ask(daemon, "GET", "/v1/describe", old)
            with daemon.page() as page:
                self.use(daemon, page)
                self.note("pushes", page.pushes)
            self.note_processes(daemon)
        self.note("log", "".join(daemon.lines))
        found = {name: content.decode("latin-1") for name, content in self.files()}
        for name in ("bundler-was-given", "data/state.json", "data/logs/plugins.log"):
            self.assertTrue(name in found, name)
        self.assertTrue(any(name.endswith("reference-host.js") for name in found))
        self.assertIn("I am ", found["data/logs/plugins.log"])
        for name, text in {**self.kept, **found}.items():
            for token in (old, new, old[:-1], new[:-1], WRONG):
                self.assertFalse(token in text, name)
