"""The commands that manage a daemon without its page, as a user types them."""

import json
import os
import pty
import signal
import socket
import subprocess
import threading
from functools import partial
from typing import Any

from ..waiting import wait_until
from .daemon import PATIENCE_SECONDS, command, environment, run
from .test_install import InstallCase, manifest, tree
from .test_prompt import CONFIRM, PromptCase

REFUSED, WRONG_USAGE, NO_DAEMON, INTERRUPTED = 1, 2, 3, 130


class _Typed:
    """Has commands of one data directory."""

    def where(self):
        """The options that name the data directory."""
        return "--host=reference", f"--data-dir={self.home / 'data'}"

    def type(self, name, *arguments, more=None):
        """Run a command until it ends."""
        return run(self.home, name, *self.where(), *arguments, more=more)

    def begin(self, name, *arguments, **options):
        """Start a command."""
        started = subprocess.Popen(
            command(name, *self.where(), *arguments),
            cwd=self.home,
            env=environment(self.home),
            text=True,
            **options,
        )
        self.addCleanup(self.end, started)
        return started

    def end(self, started):
        """End what a failed test has left."""
        if started.poll() is None:
            started.kill()
        started.communicate()

    def done(self, name, *arguments):
        """Run a command that succeeds; gives its JSON."""
        done = self.type(name, "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)


class ManageTests(_Typed, InstallCase):
    """Tests for commands and a daemon that approves by itself."""

    def test_life_of_a_plugin(self):
        """Install, list, switch off and on, update, and uninstall."""
        url = self.publish("good", tree("good"))
        with self.daemon("--dev"):
            nothing = self.type("list")
            self.assertEqual(nothing.stdout, "no plugin is installed\n")
            plugin = self.done("install", url)["plugin"]
            self.assertEqual(plugin["id"], "good")
            self.done("disable", "good")
            listed = self.type("list")
            self.assertEqual(
                listed.stdout,
                "ID    NAME      VERSION  STATE\ngood  A plugin  1.0.0    off\n",
            )
            state = json.loads((self.data / "state.json").read_text())
            self.assertIs(state["host"]["enabled:good"], False)
            self.done("enable", "good")
            (entry,) = self.done("list")["plugins"]
            self.assertIs(entry["enabled"], True)
            nothing_new: Any = {"updates": [], "unknown": [], "pending": []}
            self.assertEqual(self.done("update"), nothing_new)
            self.done("disable", "good")
            (key,) = self.done("keys")["keys"]
            self.assertEqual(key["installed"], ["good"])
            self.done("uninstall", "good")
            self.done("forget-key", key["keyId"])
            self.assertEqual(self.type("keys").stdout, "no key is accepted\n")
        state = json.loads((self.data / "state.json").read_text())
        self.assertNotIn("enabled:good", state.get("host", {}))

    def test_updates(self):
        """Without an id new commits are listed; ``--all`` makes them current."""
        files = tree("good")
        url = self.publish("good", files, signed_at=1_700_000_000)
        with self.daemon("--dev"):
            self.done("install", url)
            files["plugin.json"] = manifest("good", version="1.1.0")
            self.publish("good", files)
            listed = self.type("update")
            self.assertRegex(listed.stdout, r"\ngood  1.0.0 → 1.1.0  \S")
            self.assertIn("run: plugin-bridge update --all --host ", listed.stdout)
            (entry,) = self.done("list")["plugins"]
            self.assertEqual(entry["version"], "1.0.0")
            updated = self.type("update", "--all")
            self.assertEqual(updated.stdout, "good is at 1.1.0\n")
            mixed = self.type("update", "--all", "good")
            self.assertEqual(mixed.returncode, WRONG_USAGE)

    def test_status(self):
        """At most ten lines, with a daemon and without; 3 without."""
        url = self.publish("good", tree("good"))
        with self.daemon("--dev"):
            self.done("install", url)
            shown = self.type("status")
            self.assertEqual(shown.returncode, 0)
            self.assertLessEqual(shown.stdout.count("\n"), 10)
            self.assertIn("plugins: 1\n", shown.stdout)
            self.assertIn(
                f"data: {self.data}\nbundle: {self.bundle}, built", shown.stdout
            )
            self.assertIn("EVERY operation is approved", shown.stdout)
            overview = self.done("status")
            self.assertEqual((overview["plugins"], overview["updates"]), (1, []))
        self.bundle.unlink()
        (self.data / "bin" / "esbuild").unlink()
        stopped = self.type("status")
        self.assertEqual(stopped.returncode, NO_DAEMON)
        self.assertIn("daemon: not running\n", stopped.stdout)
        self.assertIn("not built yet", stopped.stdout)
        self.assertIn("cannot build: no bundler; run: ", stopped.stdout)

    def test_attack_calls_without_the_token(self):
        """The socket alone is not enough, and calls by HTTP are not there."""
        with self.daemon("--dev"):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.data / "control.socket"))
                client.sendall(
                    b"POST /v1/plugins/list HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
                )
                self.assertIn(b'"reason":"hello_required"', client.recv(1000))
            (self.data / "token").write_text("0" * 64 + "\n")
            done = self.type("list")
            self.assertNotEqual(done.returncode, 0)

    def test_too_long_a_path(self):
        """Where no socket can be, a loopback port is used."""
        deep = self.home / ("x" * 100)
        deep.mkdir()
        (self.home / "data").rename(deep / "data")
        self.home = deep
        self.data = deep / "data"
        with self.daemon():
            self.assertTrue((self.data / "control.socket").is_file())
            self.assertEqual(self.done("list")["plugins"], [])


class PromptedTests(_Typed, PromptCase):
    """Tests for commands, a daemon without ``--dev``, and somebody who clicks."""

    def setUp(self):
        """Begin the desktop's notification server."""
        super().setUp()
        self.serve("xfce4-notifyd")

    def test_confirmed_on_a_terminal(self):
        """The prompts are confirmed; the terminal shows plugin, bar and result."""
        url = self.offer("good")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        shown = bytearray()
        with self.daemon():
            started = self.begin(
                "install", url, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL
            )
            os.close(slave)
            reader = threading.Thread(target=_read, args=(master, shown))
            reader.start()
            # The forge is on this computer, which a preview asks about first.
            for number, name in enumerate(("reach", "install", "trust")):
                wait_until(partial(_asked, shown, number))
                self.press(CONFIRM, f"manage-{name}.png")
            self.assertEqual(started.wait(PATIENCE_SECONDS), 0, shown)
            reader.join()
        self.assertRegex(shown.decode(), r"\[(\x1b\[32m)?#+\.*")
        for words in ("good 1.0.0: ", "not accepted yet", "installed good 1.0.0"):
            self.assertIn(words, shown.decode())

    def test_ctrl_c_withdraws_the_prompt(self):
        """Ctrl-C cancels the operation in the daemon; its prompt disappears."""
        url = self.offer("good")
        with self.daemon():
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            started = self.begin("install", url, **pipes)
            self.session.settled(self.empty)
            started.send_signal(signal.SIGINT)
            _, err = started.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual(started.returncode, INTERRUPTED, err)
            self.assertIn("the operation was cancelled", err)
            self.until_empty()


def _asked(shown: bytearray, number: int) -> bool:
    return shown.count(b"Answer the prompt") > number


def _read(master: int, shown: bytearray) -> None:
    while True:
        try:
            text = os.read(master, 4096)
        except OSError:  # the last end of the terminal was closed
            return
        if not text:
            return
        shown.extend(text)
