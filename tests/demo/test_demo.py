"""Tests for bridge.demo.demo: how it starts and ends the daemon."""

import sys
from pathlib import Path
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.demo.child import ChildError, DaemonProcess
from bridge.demo.demo import NAME, DemoPaths, command, start
from bridge.demo.demo import publish_plugin as publish
from bridge.demo.forge import ForgeError
from bridge.plugins.tree.manifest import load_manifest
from bridge.plugins.tree.signature import verify_tree
from bridge.plugins.tree.tree import read_tree
from bridge.settings.host import load_profile

from ..directories import fresh_directory
from ..plugins.policy.scanning import scan_tree

NOW = 1_800_000_000


class DaemonProcessTests(SynchronousTestCase):
    """Tests for watching the daemon's output."""

    def setUp(self):
        """A process that has printed nothing."""
        self.kept: list[bytes] = []
        self.daemon = DaemonProcess(self.kept.append)

    def test_address(self):
        """Its address is found, however the line arrives; all of it is kept."""
        for piece in (b"noise\nx listening", b" on http://127.0.0.1:1", b"\nmore\n"):
            self.daemon.outReceived(piece)
        self.daemon.errReceived(b"later")
        address = self.successResultOf(self.daemon.listening)
        self.assertEqual(address, "http://127.0.0.1:1")
        self.assertEqual(len(self.kept), 4)

    def test_did_not_start(self):
        """A daemon that ends first fails with what it printed."""
        self.daemon.errReceived(b"plugin-bridge: no\n")
        self.daemon.processEnded(Failure(ProcessDone(0)))
        failure = self.failureResultOf(self.daemon.listening, ChildError)
        self.assertIn("plugin-bridge: no", str(failure.value))
        self.successResultOf(self.daemon.ended)


class StartTests(SynchronousTestCase):
    """Tests for starting everything."""

    def test_missing_trustme(self):
        """What only the demo needs is looked for before anything is done."""
        place = DemoPaths(fresh_directory(self), load_profile("reference"))
        reported: list[str] = []
        with mock.patch.dict(sys.modules, {"trustme": None}):
            starting = start(object(), place, reported.append, bytes, NOW)
            failure = self.failureResultOf(Deferred.fromCoroutine(starting), ForgeError)
        self.assertIn("pip install '.[demo]'", str(failure.value))
        self.assertEqual((reported, list(place.root.iterdir())), ([], []))


class PublishTests(SynchronousTestCase):
    """Tests for the sample plugin."""

    def setUp(self):
        """A place."""
        self.place = DemoPaths(fresh_directory(self), load_profile("reference"))

    def test_the_sample_passes_every_check(self):
        """What is published has a good manifest, source and signature."""
        publish(self.place, lambda count: b"\x05" * count, NOW)
        tree = self.place.root / "plugin"
        self.assertEqual(load_manifest(read_tree(tree), self.place.profile).id, NAME)
        self.assertEqual(scan_tree(tree), [])
        signed = verify_tree(read_tree(tree), NAME, self.place.profile, NOW)
        self.assertEqual(signed.signed_at, NOW)
        self.assertTrue((self.place.repositories / f"{NAME}.git").is_dir())

    def test_command(self):
        """The daemon is started as a user would, in the demo's own directories."""
        line = command(self.place, "--dev")
        self.assertEqual(line[1:5], ["-m", "bridge", "run", "--host=reference"])
        self.assertIn(f"--data-dir={self.place.root}/data", line)
        self.assertEqual(line[-1], "--dev")
        self.assertEqual(self.place.theme_dir, Path(self.place.root, "data", "themes"))
