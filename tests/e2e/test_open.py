"""``plugin-bridge open``: the page of the reference host, as its user meets it."""

import os
import signal
import socket
from contextlib import AbstractContextManager

from bridge.system.locks import is_held

from ..waiting import wait_until
from .browser import open_browser
from .daemon import (
    Command,
    HomeCase,
    command,
    on_a_terminal,
    printing,
    run,
    running,
    set_up,
    started,
)


class OpenTests(HomeCase):
    def opened(self, *options: str) -> AbstractContextManager[Command]:
        """Run it for the reference host, at a free port, without a browser."""
        free = ("--no-browser", "--page-port=0")
        # Modes are for ``run``; the variables of the others count.
        variables = {
            "BRIDGE_LISTEN": "127.0.0.1:0",
            "BRIDGE_PRINT_TOKEN": "1",
            "BRIDGE_BUILD_PLUGINS": "1",
        }
        return started(self.home, "open", *self.where, *free, *options, more=variables)

    def test_from_nothing_to_a_page(self) -> None:
        """It sets up, starts a daemon, builds, and its page is connected."""
        with self.opened("--yes") as command:
            command.wait_for("bundler: installed esbuild")
            address = command.wait_for(r"^Open  (\S+)$")
            with open_browser() as browser:
                browser.open(address)
                browser.until_text("#bridge-state", "Connected")
                self.assertEqual(browser.chrome.current_url.partition("#")[2], "")
                self.assertEqual(browser.console_errors(), [])
                # The link's token is in no address that somebody could go back to.
                browser.chrome.back()
                self.assertNotIn("token", browser.chrome.current_url)
            self.assertEqual(command.stop(signal.SIGINT), 0)
        self.assertFalse(is_held(self.data / "lock"))
        self.assertFalse((self.data / "page.html").exists())

    def test_daemon_that_runs(self) -> None:
        """It uses the daemon that runs already, and leaves it running."""
        set_up(self.home)
        with running(self.home) as daemon:
            with self.opened() as command:
                command.wait_for(f"the daemon that runs at .*:{daemon.port}$")
                command.wait_for("^Open  ")
                self.assertEqual(command.stop(signal.SIGINT), 0)
            with self.opened("--dev") as command:
                command.wait_for("was started without --dev")
                self.assertEqual(command.wait(), 3)
            with daemon.page() as page:
                self.assertEqual(page.result("plugins", "list")["plugins"], [])
        with running(self.home, "--dev"), self.opened() as command:
            command.wait_for("--dev is on: EVERY operation is approved")
            command.wait_for("^Open  ")
            self.assertEqual(command.stop(signal.SIGINT), 0)

    def test_attack_package_in_the_working_directory(self) -> None:
        """``open`` starts no Python that might import it: it is the daemon itself."""
        set_up(self.home)
        (self.home / "bridge.py").write_text("open('imported', 'w')")
        line = command("open", *self.where, "--no-browser", "--page-port=0")
        # As the command that is installed, this one does not look there.
        safe = [line[0], "-P", *line[1:]]
        with printing(safe, self.home, {"BRIDGE_LISTEN": "127.0.0.1:0"}) as shown:
            shown.wait_for("^Open  ")
            self.assertEqual(shown.stop(signal.SIGINT), 0)
        self.assertEqual(shown.lines[-1], "Ctrl-C ends it.\n")
        self.assertFalse((self.home / "imported").exists())

    def test_killed(self) -> None:
        """A daemon that it started does not outlive it, even when it is killed."""
        set_up(self.home)
        with self.opened() as command:
            command.wait_for("^Open  ")
            self.assertTrue(is_held(self.data / "lock"))
            command.stop(signal.SIGKILL)
        wait_until(lambda: not is_held(self.data / "lock"), seconds=10)

    def test_demo_on_a_terminal_that_closes(self) -> None:
        """The demo leaves nothing, also when the window is closed that it runs in."""
        temporary = self.home / "tmp"
        temporary.mkdir()
        more = {"TMPDIR": str(temporary)}
        process, master = on_a_terminal(self, self.home, command("demo"), more)
        shown = b""
        while b"Ctrl-C ends the demo" not in shown:
            shown += os.read(master, 4096)
        os.close(master)
        process.wait(60)
        self.assertEqual(list(temporary.iterdir()), [])
        # So it is while it downloads, before there is anything to stop.
        npm = self.home / "npm"
        npm.write_text("#!/bin/sh\n: >$TMPDIR/asked\nexec sleep 60\n")
        npm.chmod(0o700)
        more["PATH"] = f"{self.home}:{os.environ['PATH']}"
        process, master = on_a_terminal(self, self.home, command("demo"), more)
        wait_until((temporary / "asked").exists)
        os.close(master)
        process.wait(60)
        self.assertEqual([path.name for path in temporary.iterdir()], ["asked"])

    def test_refused(self) -> None:
        """What stands in the way is one line, with what to do; the status is 1."""
        with self.opened() as command:
            command.wait_for("it has to download esbuild and .*; add --yes")
            self.assertEqual(command.wait(), 1)
        self.assertFalse(self.data.exists())
        with self.opened("--host=vrcnext") as command:
            command.wait_for("VRCNext shows its page itself; .*--host reference")
            self.assertEqual(command.wait(), 1)
        set_up(self.home)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listen = f"127.0.0.1:{taken.getsockname()[1]}"
            done = run(self.home, "open", *self.where, more={"BRIDGE_LISTEN": listen})
        self.assertRegex(done.stderr, f"^plugin-bridge open: cannot listen on {listen}")
        self.assertEqual(done.returncode, 1)
