"""The packed TypeScript client and a real daemon."""

import contextlib
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

import bridge
from bridge.protocol.limits import SOCKETS_AUTHENTICATED

from ..directories import fresh_directory
from ..waiting import wait_until
from ..whole.daemon import Daemon, run, running
from ..whole.test_install import InstallCase, tree
from .client import Client, client

KEY = {"ns": "host", "key": "a"}
REF = "chosen-by-the-page"


class ConnectionTests(SynchronousTestCase):
    """Tests for one daemon that stays: pairing, calls, and what they come to."""

    stack: ClassVar[contextlib.ExitStack]
    daemon: ClassVar[Daemon]

    @classmethod
    def setUpClass(cls) -> None:
        """Start it."""
        cls.stack = contextlib.ExitStack()
        home = cls.stack.enter_context(TemporaryDirectory(prefix="bridge-home-"))
        cls.daemon = cls.stack.enter_context(running(Path(home)))

    @classmethod
    def tearDownClass(cls) -> None:
        """End it."""
        cls.stack.close()

    @contextlib.contextmanager
    def connected(self) -> Iterator[Client]:
        """Have a client connect."""
        with client(self.daemon.port, self.daemon.token) as page:
            page.state("connected")
            yield page

    def test_pairing_and_calls(self) -> None:
        """Without a token, with a wrong one, and with the right one."""
        with client(self.daemon.port, None) as page:
            self.assertEqual(page.state("unpaired"), {"reason": "missing"})
            for error, reason in (
                (page.refused("state/get", KEY), "missing"),
                (page.error(page.ask("pair", token="W" * 43)), "refused"),
            ):
                self.assertEqual(error["name"], "PairingError")
                self.assertEqual(error["reason"], reason)
            welcome = page.result(page.ask("pair", token=f" {self.daemon.token}\n"))
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

    def test_stopped_daemon(self) -> None:
        """A daemon that does not answer is stalled, until it goes on."""
        with self.connected() as page:
            self.daemon.process.send_signal(signal.SIGSTOP)
            try:
                error = page.refused("state/get", KEY)
                self.assertEqual((error["name"], error["sent"]), ("TimeoutError", True))
                page.state("stalled")
                mark = page.mark()
            finally:
                self.daemon.process.send_signal(signal.SIGCONT)
            page.state("connected", mark)
            self.assertEqual(page.call("state/get", KEY), {"value": None})
            self.assertEqual(
                page.states, ["connecting", "connected", "stalled", "connected"]
            )

    def test_log(self) -> None:
        """Lines reach the daemon's log of the page, those before the connection too."""
        with client(self.daemon.port, None) as page:
            page.ask("log", lines=["before", "half \ud83d"])
            page.result(page.ask("pair", token=self.daemon.token))
            page.ask("log", lines=["after"])
            page.result(page.ask("close"))
            page.state("stopped")
        log = self.daemon.data / "logs" / "plugins.log"
        wait_until(lambda: log.exists() and "after" in log.read_text("utf-8"))
        written = log.read_text("utf-8")
        for line in ("[driver] before", "[driver] half \ufffd", "[driver] after"):
            self.assertIn(line, written)


class LossTests(SynchronousTestCase):
    """Tests for finding the daemon, losing it, and finding it again."""

    def setUp(self) -> None:
        """An empty home directory."""
        self.home = fresh_directory(self)

    def test_killed_and_started_again(self) -> None:
        """A call waits for the next daemon on the same port, and is sent to it."""
        with running(self.home) as daemon:
            port, token = daemon.port, daemon.token
            with client(port, token) as page:
                page.state("connected")
                daemon.stop(signal.SIGKILL)
                self.assertEqual(page.state("waiting")["close"]["code"], 1006)
                page.state("absent")
                error = page.refused("state/get", KEY)
                self.assertEqual((error["name"], error["sent"]), ("LostError", False))
                mark = page.mark()
                with running(self.home, f"--listen=127.0.0.1:{port}"):
                    page.state("connected", mark)
                    self.assertEqual(page.call("state/get", KEY), {"value": None})
                    mark = page.mark()
                details = page.state("waiting", mark)
                self.assertEqual(details["close"], {"code": 1001, "reason": "shutdown"})

    def test_rotated_token(self) -> None:
        """A replaced token is named so, and the new one connects."""
        with running(self.home) as daemon, client(daemon.port, daemon.token) as page:
            page.state("connected")
            done = run(self.home, "run", f"--data-dir={daemon.data}", "--rotate-token")
            self.assertEqual(done.returncode, 0, done.stderr)
            details = page.state("unpaired")
            self.assertEqual(details["reason"], "rotated")
            page.result(page.ask("pair", token=daemon.token))
            self.assertEqual(
                page.states[2:], ["unpaired", "detecting", "connecting", "connected"]
            )

    def test_no_room_for_it(self) -> None:
        """1013 is waited out for five seconds, and then there is room."""
        late = {"lateHello": 2_000}
        with running(self.home) as daemon, contextlib.ExitStack() as others:
            for _ in range(SOCKETS_AUTHENTICATED - 1):
                others.enter_context(daemon.page())
            with client(daemon.port, daemon.token, **late) as page:
                page.state("connecting")
                time.sleep(0.5)  # until its socket is open
                with daemon.page():
                    details = page.state("waiting")
                close = {"code": 1013, "reason": "too_many_sockets"}
                self.assertEqual(details["close"], close)
                self.assertGreaterEqual(details["retryInMs"], 5_000)
                page.state("connected")

    def test_remote(self) -> None:
        """A snippet is evaluated in it: its value, or what it throws."""
        with (
            running(self.home, "--dev") as daemon,
            client(daemon.port, daemon.token) as page,
        ):
            page.state("connected")
            page.result(page.ask("evaluate"))
            missing = "ReferenceError: missing is not defined"
            for code, expected in (
                ("return [1 + 1, await 3]", {"ok": True, "value": [2, 3]}),
                ("return missing", {"ok": False, "error": missing}),
            ):
                got = daemon.call_by_http("remote", "eval", {"code": code})
                self.assertEqual(got, expected)
            deep = "let v = 1; for (let n = 0; n < 99; n += 1) v = [v]; return v"
            got = daemon.call_by_http("remote", "eval", {"code": deep})
            self.assertIn("the daemon does not accept this value", got["error"])


class OperationTests(InstallCase):
    """Tests for operations that outlive a connection."""

    def installing(self, page, url, step, **more):
        """Begin an install, and wait until it reaches a step."""
        params = {"url": url, **more}
        asked = page.ask("operate", method="plugins/install", params=params)
        page.until(
            lambda line: (
                line.get("n") == asked and line.get("progress", {}).get("step") == step
            )
        )
        return asked

    def test_install(self) -> None:
        """Its steps are reported, and its result is the plugin."""
        url = self.publish("good", tree("good"))
        with self.daemon("--dev") as daemon, client(daemon.port, daemon.token) as page:
            page.state("connected")
            asked = self.installing(page, url, "build")
            plugin = page.result(asked)["plugin"]
            self.assertEqual((plugin["id"], plugin["url"]), ("good", url))
            self.assertEqual(page.call("plugins/list", {})["plugins"], [plugin])

    def test_lost_socket(self) -> None:
        """The outcome comes by the next connection, and nothing is done twice."""
        url = self.publish("good", tree("good"))
        with self.daemon("--dev") as daemon, client(daemon.port, daemon.token) as page:
            page.state("connected")
            asked = self.installing(page, url, "awaiting_confirmation")
            page.ask("pair", token=daemon.token)
            self.assertEqual(page.result(asked)["plugin"]["id"], "good")
            self.assertEqual(page.states.count("connected"), 2)

    def test_reloaded_page(self) -> None:
        """Another page with the reference gets the outcome, and a refusal as well."""
        url = self.publish("good", tree("good"))
        with self.daemon("--dev") as daemon:
            with client(daemon.port, daemon.token) as page:
                page.state("connected")
                self.installing(page, url, "awaiting_confirmation", ref=REF)
            with client(daemon.port, daemon.token) as page:
                params = {"url": url, "ref": REF}
                asked = page.ask("operate", method="plugins/install", params=params)
                self.assertEqual(page.result(asked)["plugin"]["id"], "good")
                params = {"url": url}
                asked = page.ask("operate", method="plugins/install", params=params)
                self.assertEqual(page.error(asked)["prefix"], "already_installed")

    def test_killed_in_an_install(self) -> None:
        """The operation is lost, and the next daemon has all of it or nothing."""
        url = self.publish("good", tree("good"))
        with self.daemon("--dev") as daemon:
            port = daemon.port
            with client(port, daemon.token) as page:
                page.state("connected")
                asked = self.installing(page, url, "clone")
                daemon.stop(signal.SIGKILL)
                page.state("waiting")
                with self.daemon("--dev", f"--listen=127.0.0.1:{port}"):
                    error = page.error(asked)
                    self.assertEqual(
                        (error["name"], error["sent"]), ("LostError", True)
                    )
                    listed = page.call("plugins/list", {})["plugins"]
        names = [plugin["id"] for plugin in listed]
        self.assertEqual(self.left()[0], names)

    def test_cancel(self) -> None:
        """An abort cancels the install at the daemon."""
        url = self.publish("good", tree("good"))
        with self.daemon("--dev") as daemon, client(daemon.port, daemon.token) as page:
            page.state("connected")
            asked = self.installing(page, url, "clone")
            page.ask("abort", of=asked)
            self.assertEqual(page.error(asked)["name"], "AbortError")
            self.assertEqual(page.call("plugins/list", {})["plugins"], [])
        self.assertEqual(self.left()[0], [])
        self.assertNotIn("good", json.dumps(self.left()[1]))
