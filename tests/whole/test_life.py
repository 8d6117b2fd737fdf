"""The daemon's life as its user sees it: start, refuse to start, end."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir.paths import DataDir
from bridge.provision.hostsources import install_sources, installed_sources

from ..directories import fresh_directory
from ..waiting import wait_until
from .daemon import (
    ROOT,
    command,
    environment,
    on_a_terminal,
    paired,
    run,
    running,
    set_up,
)


class LifeTests(SynchronousTestCase):
    """Tests for starting and ending."""

    def setUp(self):
        """An empty home."""
        self.home = fresh_directory(self)

    def test_signals_end_it_cleanly(self):
        """SIGTERM and SIGINT close sockets with 1001; the log has what was started."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with running(self.home) as daemon, daemon.page() as page:
                page.result("state", "set", {"ns": "a", "key": "b", "value": 1})
                daemon.process.send_signal(number)
                self.assertEqual(page.closed_with(), (1001, "shutdown"))
                self.assertIn(daemon.process.wait(30), (0, -number))
            log = "".join(daemon.lines)
            for reported in (
                "plugin-bridge 0.",
                f"{self.home}/data",
                "themes",
                "token file",
                "--print-token",
                "logs, notify, osc, outbound, plugins, sql, state",
                "overlay [unknown]",
                "privileged operations will be refused",
                "developer mode  off",
                "loopback only",
                "5 requests per second",
                "burst 10",
            ):
                self.assertIn(reported, log)
            self.assertNotIn(daemon.token, log)
            self.assertNotIn("Traceback", log)

    def test_supervisor_and_a_daemon_that_cannot_build(self):
        """It is watched; banner, page, supervisor and ``status`` have the reason."""
        path = str(self.home / "notify")
        supervised = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"}
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(path)
            supervisor.settimeout(30)

            def told():
                while (word := supervisor.recv(4096).decode()) == "WATCHDOG=1":
                    pass
                return word

            with running(self.home, more=supervised) as daemon:
                where = f"STATUS=listening on http://127.0.0.1:{daemon.port}"
                self.assertEqual(told(), f"READY=1\n{where}")
                with daemon.page() as page:
                    reason = page.welcome["services"]["plugins"]["cannotBuild"]
                self.assertEqual(reason[:32], "cannot build: no bundler; run: p")
                self.assertEqual(told(), f"{where}; {reason}")
                self.assertEqual(supervisor.recv(4096), b"WATCHDOG=1")
                self.assertEqual(supervisor.recv(4096), b"WATCHDOG=1")
                place = "--host=reference", f"--data-dir={daemon.data}"
                shown = run(self.home, "status", *place)
                daemon.stop()
            self.assertEqual(told(), "STOPPING=1")
        self.assertIn(reason, "".join(daemon.lines))
        self.assertIn(f"problem: {reason}\n", shown.stdout)

    def test_upgrade_under_a_running_daemon(self):
        """When its files are replaced by another release's, every service answers."""
        release = self.home / "release"
        shutil.copytree(ROOT / "bridge", release / "bridge")
        shutil.copytree(ROOT / "twisted", release / "twisted")
        set_up(self.home)
        with running(self.home, "--dev", more={"PYTHONPATH": str(release)}) as daemon:
            for path in release.rglob("*.py"):
                path.write_text("raise ImportError('of another release')")
            for cached in release.rglob("*.pyc"):
                cached.unlink()
            with daemon.page() as page:
                for service, method, params in (
                    ("logs", "info", {}),
                    ("notify", "send", {"title": "Door"}),
                    ("osc", "send", {"port": 9000, "address": "/a", "args": [1]}),
                    ("outbound", "fetch", {"url": "https://127.0.0.1:1024/"}),
                    ("plugins", "build", {}),
                    ("plugins", "install", {"url": "https://127.0.0.1:1024/x.git"}),
                    ("plugins", "list", {}),
                    ("sql", "query", {"db": "sample", "sql": "SELECT 1"}),
                    ("state", "set", {"ns": "host", "key": "k", "value": 1}),
                ):
                    answer = page.call(service, method, params)
                    code = answer.get("error", {}).get("code")
                    self.assertNotEqual(code, "internal", (service, answer))
            self.assertEqual(daemon.http("GET", "/v1/health")[0], 200)
            daemon.call_by_http("logs", "info", {})
        self.assertNotIn("ImportError", "".join(daemon.lines))

    def test_hangup_reopens_the_log_file(self):
        """After SIGHUP it goes on in a new file, and ends by nothing else."""
        with running(self.home, "--dev") as daemon:
            log = daemon.data / "logs" / "plugins.log"
            record = {"level": "info", "message": "kept"}
            daemon.call_by_http("logs", "write", {"records": [record]})
            log.rename(log.with_name("moved"))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_for("is reopened")
            self.assertEqual(daemon.http("GET", "/v1/health")[0], 200)
            self.assertIn("kept", log.with_name("moved").read_text())

    def on_a_terminal(self, *wrapped):
        """Start a daemon on a terminal of its own; it, and the terminal's other end."""
        run = command("run", "--host=reference", f"--data-dir={self.home / 'data'}")
        line = [*wrapped, *run, "--listen=127.0.0.1:0"]
        return on_a_terminal(self, self.home, line)

    def paired(self):
        """Wait for a daemon, and pair a page with it."""
        data = self.home / "data"
        wait_until((data / "address").exists)
        port = int((data / "address").read_text("ascii").rpartition(":")[2])
        return self.enterContext(paired(port, data))

    def test_foreground_daemon_ends_with_its_terminal(self):
        """When the window is closed in which it runs, it ends in order."""
        process, master = self.on_a_terminal()
        page = self.paired()
        page.result("state", "set", {"ns": "a", "key": "b", "value": 1})
        os.close(master)
        self.assertEqual(page.closed_with(), (1001, "shutdown"))
        self.assertEqual(process.wait(30), 0)
        self.assertFalse((self.home / "data" / "address").exists())

    def test_interrupted_as_soon_as_it_listens(self):
        """Ctrl-C ends it, however early it comes."""
        process, master = self.on_a_terminal()
        self.addCleanup(os.close, master)
        shown = b""
        while b"listening on" not in shown:
            shown += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), -signal.SIGINT)

    def test_daemon_that_shall_outlive_its_terminal(self):
        """With nohup(1) it goes on, and SIGHUP reopens its log file as elsewhere."""
        process, master = self.on_a_terminal("nohup")
        page = self.paired()
        os.close(master)
        process.send_signal(signal.SIGHUP)
        page.result("state", "set", {"ns": "a", "key": "b", "value": 1})
        self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(page.closed_with(), (1001, "shutdown"))

    def test_first_bundle(self):
        """Setup builds a bundle; a start that finds none, or an old one, does too."""
        bundle = set_up(self.home) / "themes/reference-host/reference-host.js"
        built = bundle.read_bytes()
        info = bundle.with_name("info.json").read_text()
        old = re.sub('"version": "[^"]*"', '"version": "0.0.1"', info)
        for lost in (bundle.unlink, lambda: bundle.write_bytes(b"half")):
            lost()
            with running(self.home):
                wait_until(lambda: bundle.exists() and bundle.read_bytes() == built)
        bundle.with_name("info.json").write_text(old)
        with running(self.home):
            wait_until(lambda: bundle.with_name("info.json").read_text() == info)

    def test_sources_of_another_version(self):
        """A start replaces another version's host sources, and builds of its own."""
        data = DataDir(set_up(self.home))
        bundle = data.root / "themes/reference-host/reference-host.js"
        before = bundle.read_bytes()
        sources = installed_sources(data)
        sources["packages/host/src/index.ts"] = b"export {};\n"
        install_sources(sources, data, "0.0.1", force=True)
        bundle.with_name("info.json").unlink()
        with running(self.home) as daemon:
            wait_until(bundle.with_name("info.json").exists)
        log = "".join(daemon.lines)
        self.assertIn("sources of version 0.0.1 were replaced by those of", log)
        self.assertEqual(bundle.read_bytes(), before)

    def refused(self, *arguments, more=None):
        """Run a daemon that doesn't start: its status, and its one line."""
        ended = run(self.home, "run", *arguments, more=more)
        lines = (ended.stdout + ended.stderr).strip().splitlines()
        self.assertEqual(len(lines), 1, lines)
        return ended.returncode, lines[0]

    def test_attack_lock_removed_under_a_daemon(self):
        """A second daemon is refused, though the lock's file is gone or another."""
        with running(self.home) as daemon:
            lock = daemon.data / "lock"
            for content in (None, b"", b"1\n"):
                lock.unlink(missing_ok=True)
                if content is not None:
                    lock.write_bytes(content)
                second = run(
                    self.home,
                    "run",
                    "--listen=127.0.0.1:0",
                    f"--data-dir={daemon.data}",
                )
                self.assertEqual(second.returncode, 1)
                (line,) = second.stderr.splitlines()
                self.assertIn("another daemon", line)
            lock.unlink()
            found = run(self.home, "doctor", f"--data-dir={daemon.data}")
            self.assertIn(f"listens on 127.0.0.1:{daemon.port}", found.stdout)
            self.assertEqual(daemon.stop(), -15)
        with running(self.home) as daemon:
            self.assertTrue((daemon.data / "lock").exists())

    def test_token_that_is_written_by_hand(self):
        """A token that an editor has written counts from the next hello on."""
        with running(self.home) as daemon, daemon.page() as page:
            time.sleep(1)  # since the last hello
            (daemon.data / "token").write_text("B" * 43 + "\n")
            with daemon.page() as again:
                self.assertEqual(again.welcome["type"], "welcome")
            self.assertEqual(page.closed_with(), (1001, "token_rotated"))

    def test_idle_daemon_sleeps(self):
        """With nobody there, nothing wakes it up to look at a file."""
        with running(self.home) as daemon:
            time.sleep(1)  # what its start has begun
            before = daemon.switches()
            time.sleep(2)
            self.assertLess(daemon.switches() - before, 3)

    def test_twistd_runs_it_as_a_daemon(self):
        """Plain ``twistd bridge`` finds the plugin, and goes to the background."""
        line = [*command()[:1], "-m", "twisted", "--help"]
        listed = subprocess.run(
            line,
            cwd=self.home,
            env=environment(self.home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertIn("bridge", listed.stdout)
        twistd = [
            *command()[:1],
            "-c",
            "from twisted.scripts.twistd import run; run()",
            "--pidfile=bridge.pid",
            "--logfile=bridge.log",
            "bridge",
            "--listen=127.0.0.1:0",
            f"--data-dir={self.home}/data",
        ]
        started = subprocess.run(
            twistd,
            cwd=self.home,
            env=environment(self.home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(started.returncode, 0, started.stderr)
        pid = int((self.home / "bridge.pid").read_text())
        self.addCleanup(_kill, pid)
        status, line = self.refused(
            "--listen=127.0.0.1:0", f"--data-dir={self.home}/data"
        )
        self.assertEqual(status, 1)
        self.assertIn("another daemon", line)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not (self.home / "bridge.pid").exists())


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
