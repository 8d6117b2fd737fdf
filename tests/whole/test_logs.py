"""``plugin-bridge logs`` alongside a real daemon."""

import signal

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..waiting import wait_until
from .daemon import running, started


class LogsTests(SynchronousTestCase):
    """Tests for following the page's log."""

    def test_follow_across_rotations(self):
        """Every line of the page comes once, in order, across many rotations."""
        home = fresh_directory(self)
        where = ["--host=reference", f"--data-dir={home / 'data'}"]
        with running(home, "--log-max-bytes=4096") as daemon, daemon.page() as page:
            self.log(page, ["line 0"])
            wait_until(lambda: page.result("logs", "info")["bytes"])
            with started(home, "logs", "-f", "--scope=a-plugin", *where) as following:
                following.wait_for("line 0$")
                for start in range(1, 301, 60):
                    self.log(page, [f"line {n}" for n in range(start, start + 60)])
                    following.wait_for(f"line {start + 59}$")
                self.assertEqual(following.stop(signal.SIGINT), 0)
            self.assertTrue((home / "data/logs/plugins.log.1").exists())
        messages = [line.rstrip("\n").partition("] ")[2] for line in following.lines]
        self.assertEqual(messages, [f"line {n}" for n in range(301)])

    def log(self, page, messages):
        """Log as a page does."""
        records = [
            {"level": "info", "scope": "a-plugin", "message": message, "ts": 0}
            for message in messages
        ]
        page.send({"type": "logs", "records": records})
