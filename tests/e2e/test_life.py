"""The daemon's life as its user sees it: start, refuse to start, end."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from bridge.datadir.paths import DataDir
from bridge.freedesktop.bus import VARIABLE
from bridge.provision.hostsources import install_sources, installed_sources

from ..waiting import wait_until
from .daemon import (
    ROOT,
    HomeCase,
    command,
    ended,
    on_a_terminal,
    paired,
    printing,
    run,
    running,
    set_up,
    started,
)

WITHOUT_THREADS = """
import threading
from bridge.cli.main import main

def start(thread):
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
main()
"""


class LifeTests(HomeCase):
    def test_interrupt_ends_it_cleanly(self):
        """SIGINT closes sockets with 1001; the log has what was started."""
        with running(self.home) as daemon, daemon.page() as page:
            page.result("state", "set", {"ns": "a", "key": "b", "value": 1})
            # A user may be impatient, and a shell may send a signal once more.
            for seconds in (0, 0.001, 0.005):
                time.sleep(seconds)
                daemon.process.send_signal(signal.SIGINT)
            self.assertEqual(page.closed_with(), (1001, "shutdown"))
            daemon.process.send_signal(signal.SIGINT)
            self.assertIn(daemon.process.wait(30), (0, -signal.SIGINT))
        log = "".join(daemon.lines)
        self.assertIn("logs, notify, osc, outbound, plugins, sql, state", log)
        self.assertNotIn(daemon.token, log)
        self.assertNotIn("Traceback", log)

    def test_no_room_for_a_thread(self):
        """It starts, and says in one line that there was no build."""
        set_up(self.home)
        shutil.rmtree(self.data / "themes")
        options = (*self.where, "--listen=127.0.0.1:0")
        line = [sys.executable, "-u", "-c", WITHOUT_THREADS, "run", *options]
        with printing(line, self.home) as daemon:
            daemon.wait_for("there was no build")
            daemon.wait_for("next: plugin-bridge open")
            daemon.stop(signal.SIGKILL)
        self.assertNotIn("Traceback", "".join(daemon.lines))

    def test_supervisor_and_a_daemon_that_cannot_build(self):
        """It is watched; all have the reason, and the supervisor also when it ends."""
        path = str(self.home / "notify")
        supervised = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000000"}
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(path)
            supervisor.settimeout(30)

            def told():
                words = (supervisor.recv(4096).decode() for _ in range(3))
                return next(word for word in words if word != "WATCHDOG=1")

            with running(self.home, more=supervised) as daemon:
                where = f"STATUS=listening on http://127.0.0.1:{daemon.port}"
                ready = told()
                with daemon.page() as page:
                    reason = page.welcome["services"]["plugins"]["cannotBuild"]
                self.assertEqual(reason[:32], "cannot build: no bundler; run: p")
                self.assertEqual(ready, f"READY=1\n{where}; {reason}")
                shown = run(self.home, "status", *self.where)
                self.assertEqual(supervisor.recv(4096), b"WATCHDOG=1")
                made = set_up(self.home, "made")
                shutil.copytree(made, self.data, symlinks=True, dirs_exist_ok=True)
                with daemon.page():
                    self.assertEqual(told(), where)
                daemon.stop()
            self.assertEqual(told(), "STOPPING=1")
        self.assertIn(reason, "".join(daemon.lines))
        self.assertIn(f"problem: {reason}\n", shown.stdout)

    def test_start_next_to_a_session_bus_that_is_mute(self):
        """It serves pages at once, and ends in order, whatever D-Bus does."""
        path = str(self.home / "bus")
        place = *self.where, "--listen=127.0.0.1:0"
        with socket.socket(socket.AF_UNIX) as mute:
            mute.bind(path)
            mute.listen()
            bus = {VARIABLE: f"unix:path={path}"}
            with started(self.home, "run", *place, more=bus) as daemon:
                described = self.paired().welcome["services"]["plugins"]
                self.assertIn("is looked for", described["confirmation"])
                self.assertIn(daemon.stop(), (0, -signal.SIGTERM))

    def test_saved_by_calls_that_wait_when_it_ends(self):
        """What a page saves over its rate is kept, and answered, before the end."""
        set_up(self.home)
        slow = running(self.home, "--rate=1", "--burst=2")
        with slow as daemon, daemon.page() as page:
            calls = [
                page.begin("state", "set", {"ns": "host", "key": key, "value": 1})
                for key in "abcd"
            ]
            page.answered(calls[0])
            daemon.stop()
            for call in calls[1:]:
                self.assertTrue(page.answered(call)["ok"])
        with running(self.home) as daemon, daemon.page() as page:
            kept = page.result("state", "list", {"ns": "host"})["entries"]
            self.assertEqual(sorted(kept), [*"abcd"])

    def test_upgrade_under_a_running_daemon(self):
        """When its files are gone or another release's, every service answers."""
        release = self.home / "release"
        shutil.copytree(ROOT / "bridge", release / "bridge")
        shutil.copytree(ROOT / "twisted", release / "twisted")
        (set_up(self.home) / "sample.db").touch()
        with running(self.home, "--dev", more={"PYTHONPATH": str(release)}) as daemon:
            shutil.rmtree(release)
            with daemon.page() as page:
                for service, method, params in (
                    ("logs", "info", {}),
                    ("notify", "send", {"title": "Door"}),
                    ("osc", "send", {"port": 9000, "address": "/a", "args": [1]}),
                    ("plugins", "build", {}),
                    ("plugins", "list", {}),
                    ("sql", "query", {"database": "sample", "sql": "SELECT 1"}),
                    ("state", "set", {"ns": "host", "key": "k", "value": 1}),
                ):
                    got = page.result(service, method, params)
                    self.assertTrue(got.get("ok", True), got)
                url = {"url": "https://127.0.0.1:1024/x.git"}
                self.assertIn("not a public", page.refusal("outbound", "fetch", url))
                self.assertIn("clone_failed", page.refusal("plugins", "install", url))
            for path in ("/v1/health", "/v1/describe"):
                token = {"Authorization": f"Bearer {daemon.token}"}
                self.assertEqual(daemon.http("GET", path, headers=token)[0], 200)
            daemon.call_by_http("logs", "info", {})
        self.assertNotIn("NotFoundError", "".join(daemon.lines))

    def test_what_its_user_does_meanwhile(self):
        """It sleeps; a log that is moved away is left."""
        with running(self.home, "--dev") as daemon:
            time.sleep(1)  # what its start has begun
            before = daemon.switches()
            time.sleep(2)
            self.assertLess(daemon.switches() - before, 3)
            log = daemon.data / "logs" / "plugins.log"
            record = {"level": "info", "message": "kept"}
            daemon.call_by_http("logs", "write", {"records": [record]})
            log.rename(log.with_name("moved"))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_for("is reopened")
            self.assertEqual(daemon.http("GET", "/v1/health")[0], 200)
            self.assertIn("kept", log.with_name("moved").read_text())
            self.assertEqual(log.read_bytes(), b"")

    def on_a_terminal(self, *wrapped):
        """Start a daemon on a terminal of its own; it, and the terminal's other end."""
        run = command("run", *self.where, "--listen=127.0.0.1:0")
        line = [*wrapped, *run]
        return on_a_terminal(self, self.home, line)

    def paired(self):
        """Wait for a daemon, and pair a page with it."""
        address = self.data / "address"
        wait_until(address.exists)
        port = int(address.read_text("ascii").rpartition(":")[2])
        return self.enterContext(paired(port, self.data))

    def test_foreground_daemon_ends_with_its_terminal(self):
        """When the window is closed in which it runs, it ends in order."""
        process, master = self.on_a_terminal()
        page = self.paired()
        page.result("state", "set", {"ns": "a", "key": "b", "value": 1})
        os.close(master)
        self.assertEqual(page.closed_with(), (1001, "shutdown"))
        self.assertEqual(process.wait(30), 0)
        self.assertFalse((self.data / "address").exists())

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

    def test_start_that_finds_no_bundle(self):
        """It builds one, of its own sources when those of another version are there."""
        data = DataDir(set_up(self.home))
        bundle = data.root / "themes/reference-host/reference-host.js"
        built = bundle.read_bytes()
        sources = installed_sources(data.host)
        sources["packages/host/src/index.ts"] = b"export {};\n"
        install_sources(sources, data, "0.0.1", force=True)
        bundle.unlink()
        with running(self.home) as daemon:
            wait_until(lambda: bundle.exists() and bundle.read_bytes() == built)
        log = "".join(daemon.lines)
        self.assertIn("sources of version 0.0.1 were replaced by those of", log)

    def test_twistd_runs_it_as_a_daemon(self):
        """Plain ``twistd bridge`` finds the plugin, and goes to the background."""
        python = sys.executable
        listed = ended(self.home, [python, "-m", "twisted", "--help"])
        self.assertIn("bridge", listed.stdout)
        place = *self.where, "--listen=127.0.0.1:0"
        twistd = "from twisted.scripts.twistd import run; run()"
        files = "--pidfile=bridge.pid", "--logfile=bridge.log"
        started = ended(self.home, [python, "-c", twistd, *files, "bridge", *place])
        self.assertEqual(started.returncode, 0, started.stderr)
        pid = int((self.home / "bridge.pid").read_text())
        self.addCleanup(subprocess.run, ["kill", "-9", str(pid)], check=False)
        second = run(self.home, "run", *place)
        self.assertEqual((second.returncode, second.stdout), (1, ""))
        (line,) = second.stderr.splitlines()
        self.assertIn(f"another daemon (process {pid}) uses", line)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not (self.home / "bridge.pid").exists())
