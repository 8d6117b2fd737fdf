"""What the demo prepares, and how its daemon, and that of ``open``, ends."""

import os
import sys
from pathlib import Path
from unittest import mock

from twisted.internet.error import ProcessDone
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands.opening import Opened, prepare_demo, typed_name
from bridge.demo.child import ChildError, DaemonProcess
from bridge.demo.forge import SAMPLE, ForgeError, publish_sample
from bridge.plugins.tree.manifest import load_manifest
from bridge.plugins.tree.signature import verify_tree
from bridge.plugins.tree.tree import read_tree
from bridge.settings.host import load_profile
from bridge.settings.options import locate

from ..directories import fresh_directory
from ..plugins.policy.scanning import scan_tree

NOW = 1_800_000_000


class DaemonProcessTests(SynchronousTestCase):
    """Tests for watching the daemon's output."""

    def setUp(self):
        """A process that has printed nothing."""
        self.daemon = DaemonProcess()

    def test_address(self):
        """Its address is found, however the line arrives."""
        for piece in (b"noise\nx listening", b" on http://127.0.0.1:1", b"\nmore\n"):
            self.daemon.outReceived(piece)
        self.daemon.errReceived(b"later")
        address = self.successResultOf(self.daemon.listening)
        self.assertEqual(address, "http://127.0.0.1:1")

    def test_did_not_start(self):
        """A daemon that ends first fails with what it printed."""
        self.daemon.errReceived(b"plugin-bridge: no\n")
        self.daemon.processEnded(Failure(ProcessDone(0)))
        failure = self.failureResultOf(self.daemon.listening, ChildError)
        self.assertIn("plugin-bridge: no", str(failure.value))
        self.successResultOf(self.daemon.ended)


class PrepareTests(SynchronousTestCase):
    """Tests for what the demo needs."""

    def test_missing_trustme(self):
        """What only the demo needs is looked for before anything is done."""
        root = fresh_directory(self)
        place = locate("reference", root / "data", None)
        with mock.patch.dict(sys.modules, {"trustme": None}):
            error = self.assertRaises(ForgeError, prepare_demo, object(), root, place)
        self.assertIn("pip install '.[demo]'", str(error))
        self.assertEqual(list(root.iterdir()), [])

    def test_the_sample_passes_every_check(self):
        """What is published has a good manifest, source and signature."""
        root, profile = fresh_directory(self), load_profile("reference")
        publish_sample(root, root / "git", profile, lambda n: b"\x05" * n, NOW)
        tree = root / "plugin"
        self.assertEqual(load_manifest(read_tree(tree), profile).id, SAMPLE)
        self.assertEqual(scan_tree(tree), [])
        signed = verify_tree(read_tree(tree), SAMPLE, profile, NOW)
        self.assertEqual(signed.signed_at, NOW)
        self.assertTrue((root / "git" / f"{SAMPLE}.git").is_dir())

    def test_typed_name(self):
        """After ``make demo`` the command is not where the shell finds it."""
        folder = Path(sys.executable).parent
        for path, name in ((str(folder), "plugin-bridge"), ("", None)):
            with mock.patch.dict(os.environ, {"PATH": path}):
                self.assertEqual(typed_name(), name or str(folder / "plugin-bridge"))


class OpenedTests(SynchronousTestCase):
    """Tests for what ends the page and its daemon."""

    def setUp(self):
        """A page with a daemon that has ended."""
        self.reactor = MemoryReactorClock()
        place = locate("reference", fresh_directory(self), None)
        self.opened = Opened(self.reactor, place, mock.Mock(), 0, [], print)

    def test_daemon_dies(self):
        """Without its daemon it ends, and names the log."""
        self.opened._ended()
        self.reactor.advance(1)
        self.assertTrue(self.reactor.hasStopped)
        self.assertIn("the daemon has ended; its log is", self.opened.failure)

    def test_ctrl_c(self):
        """After Ctrl-C the daemon ends because this does: no failure."""
        self.opened._leave()
        self.opened._ended()
        self.reactor.advance(1)
        self.assertEqual((self.opened.failure, self.reactor.hasStopped), ("", False))
