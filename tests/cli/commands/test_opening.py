"""What the demo prepares, and how ``open`` finds a daemon."""

import os
import sys
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands import opening
from bridge.cli.commands.opening import prepare_demo, typed_name
from bridge.cli.terminal import CommandError
from bridge.daemon.listening import StartError
from bridge.settings.host import locate

from ...directories import fresh_directory
from ...reactors import brief_reactor


class PrepareTests(SynchronousTestCase):
    def test_missing_trustme(self):
        """What only the demo needs is looked for before anything is done."""
        root = fresh_directory(self)
        place = locate("reference", root / "data", None)
        with mock.patch.dict(sys.modules, {"trustme": None}):
            error = self.assertRaises(CommandError, prepare_demo, object(), root, place)
        for fix in ("pipx inject plugin-bridge trustme", "pip install '.[demo]'"):
            self.assertIn(fix, str(error))
        self.assertNotIn("plugin-bridge[demo]", str(error))
        self.assertEqual(list(root.iterdir()), [])

    def test_typed_name(self):
        """After ``make demo`` the command is not where the shell finds it."""
        folder = Path(sys.executable).parent
        for path, name in ((folder, "plugin-bridge"), ("", f"{folder}/plugin-bridge")):
            with mock.patch.dict(os.environ, {"PATH": str(path)}):
                self.assertEqual(typed_name(), name)


class FoundTests(SynchronousTestCase):
    def setUp(self):
        self.place = locate("reference", fresh_directory(self), None)
        self.addCleanup(self.place.data.claim().release)

    def find(self, *later):
        """Find another's daemon; each of these happens a moment later."""
        self.reactor, self.is_found = brief_reactor(self), False
        for delay, call in enumerate(later):
            self.reactor.callLater(delay / 100, call)

        async def show():
            await opening.find_daemon(self.reactor, self.place, [])
            self.is_found = True

        opening.until_ctrl_c(self.reactor, show)

    def stop(self):
        self.reactor.stop()

    def listen(self):
        """Leave what a daemon that listens has left, whatever it logs."""
        self.place.data.address.write_text("127.0.0.1:1\n")
        self.place.bundle.parent.mkdir(parents=True)
        self.place.bundle.touch()

    def test_two_at_once(self):
        """The daemon of another that was faster is not taken for its own."""
        self.patch(opening, "is_held", lambda _: False)
        with self.assertRaisesRegex(StartError, "another daemon .* uses"):
            self.find()
        self.patch(opening, "holder", lambda _: os.getpid() + 1)
        self.find(self.listen, *[lambda: None] * 60, self.stop)
        self.assertTrue(self.is_found)

    def test_daemon_hangs(self):
        """A daemon that does not listen in time is given up, with its log's name."""
        self.patch(opening, "_START_SECONDS", 0.01)
        with self.assertRaisesRegex(CommandError, "within 0.01 s; its log is"):
            self.find()
