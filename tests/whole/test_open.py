"""``plugin-bridge open``: the page of the reference host, as its user meets it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.system.locks import is_held

from ..directories import fresh_directory
from .browser import open_browser
from .daemon import PATIENCE_SECONDS, command, environment, running, set_up


class Opened:
    """The command while it runs: its lines, and how it ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []

    def wait_for(self, pattern: str) -> str:
        """Read lines until one matches; gives its first group."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if (found := re.search(pattern, line)) is not None:
                return found[1] if found.groups() else found[0]
        raise AssertionError("".join(self.lines))

    def interrupt(self) -> int:
        """Press Ctrl-C; gives the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def opened(home: Path, *options: str) -> Iterator[Opened]:
    """Run the command for the reference host, at a free port, without a browser."""
    line = command("open", "--host=reference", f"--data-dir={home / 'data'}")
    process = subprocess.Popen(
        [*line, "--no-browser", "--page-port=0", *options],
        cwd=home,
        env=environment(home, {"BRIDGE_LISTEN": "127.0.0.1:0"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # A command that hangs does not hang the test.
    watch = threading.Timer(PATIENCE_SECONDS, process.kill)
    watch.start()
    try:
        yield Opened(process)
    finally:
        watch.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class OpenTests(SynchronousTestCase):
    """Tests for the command."""

    def setUp(self) -> None:
        """A home without anything."""
        self.home = fresh_directory(self)
        self.data = self.home / "data"

    def test_from_nothing_to_a_page(self) -> None:
        """It sets up, starts a daemon, builds, and its page is connected."""
        with opened(self.home, "--yes") as command:
            command.wait_for("bundler: installed esbuild")
            address = command.wait_for(r"^Open  (\S+)$")
            with open_browser() as browser:
                browser.open(address)
                browser.until_text("#bridge-state", "Connected")
                self.assertEqual(browser.chrome.current_url.partition("#")[2], "")
                self.assertEqual(browser.console_errors(), [])
            self.assertEqual(command.interrupt(), 0)
        self.assertFalse(is_held(self.data / "lock"))
        self.assertFalse((self.data / "page.html").exists())

    def test_daemon_that_runs(self) -> None:
        """It uses the daemon that runs already, and leaves it running."""
        set_up(self.home)
        with running(self.home) as daemon:
            with opened(self.home) as command:
                command.wait_for(f"the daemon that runs at .*:{daemon.port}$")
                command.wait_for("^Open  ")
                self.assertEqual(command.interrupt(), 0)
            with daemon.page() as page:
                self.assertEqual(page.result("plugins", "list")["plugins"], [])

    def test_daemon_that_ends(self) -> None:
        """When its daemon ends by itself it says so, with the log; the status is 1."""
        set_up(self.home)
        with opened(self.home) as command:
            command.wait_for("^Open  ")
            lock = json.loads((self.data / "lock").read_text("ascii"))
            subprocess.run(["kill", "-KILL", str(lock)], check=True)
            command.wait_for(f"the daemon has ended; its log is {self.data}/logs/")
            self.assertEqual(command.process.wait(PATIENCE_SECONDS), 1)

    def test_refused(self) -> None:
        """What stands in the way is one line, with what to do; the status is 1."""
        with opened(self.home) as command:
            command.wait_for("it has to download esbuild and .*; add --yes")
            self.assertEqual(command.process.wait(PATIENCE_SECONDS), 1)
        self.assertFalse(self.data.exists())
        with opened(self.home, "--host=vrcnext") as command:
            command.wait_for("VRCNext shows its page itself; .*: add --host reference")
            self.assertEqual(command.process.wait(PATIENCE_SECONDS), 1)
