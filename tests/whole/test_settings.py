"""One configuration, and a daemon that reports what it cannot do."""

import json
import socket

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from .daemon import PATIENCE_SECONDS, run, running


class ConfigTests(SynchronousTestCase):
    """Tests for ``config.toml`` and ``plugin-bridge config``."""

    def setUp(self):
        """A home with a configuration file."""
        self.home = fresh_directory(self)
        self.file = self.home / ".config" / "plugin-bridge" / "config.toml"
        self.file.parent.mkdir(parents=True)

    def test_precedence_and_origins(self):
        """Each value is printed with its origin; the strongest one wins."""
        self.file.write_text('host = "reference"\nrate = 7\nburst = 70\nthreads = 2\n')
        more = {"BRIDGE_BURST": "71", "BRIDGE_THREADS": "3"}
        done = run(self.home, "config", "--threads=5", "--json", more=more)
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = json.loads(done.stdout)
        self.assertEqual(printed["file"], str(self.file))
        options = printed["options"]
        expected = {
            "host": ("reference", "config.toml"),
            "rate": (7.0, "config.toml"),
            "burst": (71, "BRIDGE_BURST"),
            "threads": (5, "--threads"),
            "log": ("info", "default"),
        }
        for name, (value, origin) in expected.items():
            self.assertEqual(options[name], {"value": value, "origin": origin})
        shown = run(self.home, "config").stdout
        self.assertIn('host = "reference"  # config.toml\n', shown)

    def test_daemon_follows_the_file(self):
        """The daemon uses it; a wrong key ends the start with status 2 and a hint."""
        self.file.write_text('log-format = "json"\nrate = 8\n')
        with running(self.home) as daemon:
            daemon.stop()
            self.assertIn("8 requests per second", "".join(daemon.lines))
        self.file.write_text("rat = 8\n")
        done = run(self.home, "run", f"--data-dir={self.home / 'data'}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("rat: unknown option; did you mean rate?", done.stderr)


class ReportsTests(SynchronousTestCase):
    """Tests for what a daemon reports of its start."""

    def setUp(self):
        """A home."""
        self.home = fresh_directory(self)

    def test_taken_port(self):
        """The supervisor gets the reason; the exit status is 1."""
        path = str(self.home / "notify")
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor,
            socket.create_server(("127.0.0.1", 0)) as taken,
        ):
            supervisor.bind(path)
            supervisor.settimeout(PATIENCE_SECONDS)
            port = taken.getsockname()[1]
            done = run(
                self.home,
                "run",
                f"--listen=127.0.0.1:{port}",
                f"--data-dir={self.home / 'data'}",
                more={"NOTIFY_SOCKET": path},
            )
            status = supervisor.recv(4096).decode()
        self.assertEqual(done.returncode, 1)
        self.assertIn(
            f"STATUS=could not start: cannot listen on 127.0.0.1:{port}", status
        )

    def test_token_of_another_host(self):
        """``--print-token`` creates nothing when another daemon listens."""
        other = self.home / "other"
        with running(self.home) as daemon:
            where = f"--data-dir={other}", f"--listen=127.0.0.1:{daemon.port}"
            done = run(self.home, "run", "--print-token", *where)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(
                "nothing was created: no daemon of the host vrcnext", done.stderr
            )
            self.assertFalse(other.exists())
            chosen = run(self.home, "run", "--print-token", "--host=vrcnext", *where)
            self.assertEqual(chosen.stdout, (other / "token").read_text())
            self.assertIn("warning: no daemon of the host", chosen.stderr)
            (other / "token").unlink()
            free = f"--data-dir={other}", "--listen=127.0.0.1:0"
            run(self.home, "run", "--print-token", *free)
            warned = run(self.home, "run", "--print-token", *where)
            self.assertEqual(warned.returncode, 0)
            self.assertIn("warning: no daemon of the host", warned.stderr)
            own = f"--data-dir={daemon.data}", "--host=reference"
            done = run(self.home, "run", "--print-token", *own)
            self.assertEqual(done.stdout.strip(), daemon.token)
