"""One configuration, and a daemon that reports what it cannot do."""

import json
import socket

from .daemon import PATIENCE_SECONDS, HomeCase, run, running


class SettingsTests(HomeCase):
    """Tests for what a start reads, and what it reports."""

    def test_file(self):
        """Values have their origins; a wrong key ends the start with 2 and a hint."""
        file = self.home / ".config" / "plugin-bridge" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text('host = "reference"\nrate = 8\nburst = 70\nthreads = 2\n')
        more = {"BRIDGE_BURST": "71", "BRIDGE_THREADS": "3"}
        done = run(self.home, "config", "--threads=5", "--json", more=more)
        printed = json.loads(done.stdout)
        self.assertEqual(printed["file"], str(file))
        for name, (value, origin) in {
            "host": ("reference", "config.toml"),
            "rate": (8.0, "config.toml"),
            "burst": (71, "BRIDGE_BURST"),
            "threads": (5, "--threads"),
            "log": ("info", "default"),
        }.items():
            found = printed["options"][name]
            self.assertEqual(found, {"value": value, "origin": origin})
        with running(self.home) as daemon:
            self.assertIn("8 requests per second", "".join(daemon.lines))
        file.write_text("rat = 8\n")
        done = run(self.home, "run", *self.where)
        self.assertEqual(done.returncode, 2)
        self.assertIn("rat: unknown option; did you mean rate?", done.stderr)

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
            place = f"--listen=127.0.0.1:{port}", *self.where
            done = run(self.home, "run", *place, more={"NOTIFY_SOCKET": path})
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
