"""Tests for bridge.wiring.assembly: the file of the daemon's own log lines."""

from twisted.logger import Logger, LogPublisher
from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir.paths import DataDir
from bridge.protocol.limits import DAEMON_LOG_BYTES
from bridge.wiring.assembly import open_daemon_log

from ..directories import fresh_directory


class DaemonLogTests(SynchronousTestCase):
    """Tests for what a bug report takes the daemon's lines from."""

    def setUp(self) -> None:
        self.data = DataDir(fresh_directory(self))
        self.kept, self.notice = open_daemon_log(self.data, lambda: ["s3cret"])
        self.addCleanup(self.kept.close)
        self.log = Logger("bridge.x", observer=LogPublisher(self.kept))

    def test_kept_until_closed(self) -> None:
        """Lines are in the file, without secrets; after the end nothing is added."""
        self.assertIsNone(self.notice)
        self.log.warn("one s3cret \ud800")
        self.kept.close()
        self.log.warn("two")
        text = self.data.daemon_log.read_text("utf-8")
        self.assertRegex(text, r"^\S+ WARN  \[x\] one \[redacted\].*\n$")
        self.assertNotIn("s3cret", text)

    def test_bounded(self) -> None:
        """The file and its older generation have a bound each."""
        for _ in range(3 * DAEMON_LOG_BYTES // 50_000):
            self.log.info("x" * 50_000)
        sizes = [path.stat().st_size for path in self.data.daemon_log.parent.iterdir()]
        self.assertEqual(len(sizes), 2)
        self.assertLessEqual(max(sizes), DAEMON_LOG_BYTES)

    def test_attack_directory_of_others(self) -> None:
        """Where others can write, nothing is kept, and the start names it."""
        folder = self.data.daemon_log.parent
        folder.chmod(0o777)
        kept, notice = open_daemon_log(self.data, list)
        Logger("bridge.x", observer=LogPublisher(kept)).info("lost")
        self.assertIn(f"{folder} can be written by other users", str(notice))
        self.assertEqual(self.data.daemon_log.read_bytes(), b"")
