"""What the demo prepares, and how its daemon, and that of ``open``, ends."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest import mock

from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands import opening
from bridge.cli.commands.opening import prepare_demo, typed_name
from bridge.cli.terminal import CommandError
from bridge.demo.child import DaemonProcess, spawn_daemon
from bridge.demo.forge import ForgeError
from bridge.settings.host import shipped_profile
from bridge.settings.options import locate

from ..directories import fresh_directory
from ..reactors import brief_reactor


class SpawnTests(SynchronousTestCase):
    def setUp(self):
        self.reactor, self.process = MemoryReactorClock(), mock.Mock()
        self.reactor.spawnProcess = mock.Mock(return_value=self.process)
        root = fresh_directory(self)
        profile = root / "own.toml"
        profile.write_text(shipped_profile("reference"), "utf-8")
        self.daemon = spawn_daemon(self.reactor, locate(str(profile), root, None))
        self.shutdown = self.reactor.triggers["before"]["shutdown"]

    def end(self):
        """End the reactor; gives the signals that were sent, after a minute."""
        ((call, arguments, _),) = self.shutdown
        waiting = call(*arguments)
        self.reactor.advance(60)
        return waiting, [each.args[0] for each in self.process.signalProcess.mock_calls]

    def test_own_profile(self):
        """It has the profile that was named, not the shipped one of the same name."""
        words = self.reactor.spawnProcess.mock_calls[0].args[2]
        self.assertRegex(words[words.index("--host") + 1], "/own.toml$")

    def test_attack_package_in_the_working_directory(self):
        """``open`` runs nothing of the working directory, which may be a plugin's."""
        _, _, words = self.reactor.spawnProcess.mock_calls[0].args
        environ = self.reactor.spawnProcess.mock_calls[0].kwargs["env"]
        folder = fresh_directory(self)
        (folder / "bridge.py").write_text("raise SystemExit('run')")
        # As the command of the Debian package: what is installed is not looked for.
        line = [words[0], "-S", *words[1 : words.index("run")], "--version"]
        ours, its = os.pipe()
        self.addCleanup(os.close, its)
        with open(ours, "rb") as stdin:
            shown = subprocess.check_output(
                line, env=environ, cwd=folder, stdin=stdin, stderr=subprocess.STDOUT
            )
        self.assertIn(b"plugin-bridge ", shown)

    def test_ends_in_time(self):
        """What has ended is not killed, and what had ended before is sent nothing."""
        self.process.signalProcess = mock.Mock(
            side_effect=lambda _: self.daemon.processEnded(Failure(ProcessDone(0)))
        )
        waiting, signals = self.end()
        self.successResultOf(waiting)
        self.assertNoResult(self.daemon.died)
        self.assertEqual(signals, ["TERM"])
        self.assertEqual(self.end(), (None, ["TERM"]))

    def test_ends_with_the_reactor(self):
        """The reactor waits for it, and kills what does not end, if it has not yet."""
        self.process.signalProcess = mock.Mock(side_effect=[None, ProcessExitedAlready])
        waiting, signals = self.end()
        self.assertEqual(signals, ["TERM", "KILL"])
        self.assertNoResult(waiting)
        self.daemon.processEnded(Failure(ProcessDone(0)))
        self.successResultOf(waiting)

    def test_ended_by_the_same_ctrl_c(self):
        """What has ended is no failure, also while a pipe of it is open."""
        self.process.signalProcess = mock.Mock(side_effect=ProcessExitedAlready)
        self.assertEqual(self.end(), (None, ["TERM"]))
        self.daemon.processEnded(Failure(ProcessDone(0)))
        self.assertNoResult(self.daemon.died)


class PrepareTests(SynchronousTestCase):
    def test_missing_trustme(self):
        """What only the demo needs is looked for before anything is done."""
        root = fresh_directory(self)
        place = locate("reference", root / "data", None)
        with mock.patch.dict(sys.modules, {"trustme": None}):
            error = self.assertRaises(ForgeError, prepare_demo, object(), root, place)
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


class ShownTests(SynchronousTestCase):
    def setUp(self):
        self.place = locate("reference", fresh_directory(self), None)
        self.daemon = DaemonProcess()
        self.daemon.makeConnection(mock.Mock(pid=os.getpid()))
        self.patch(opening, "spawn_daemon", lambda *_: self.daemon)

    def show(self, *later):
        """Show the page; each of these happens a moment later."""
        self.reactor = brief_reactor(self)
        for delay, call in enumerate(later):
            self.reactor.callLater(delay / 100, call)
        self.serve = mock.Mock()
        opening.show_page(self.reactor, self.place, self.serve, [], print, False)

    def ctrl_c(self):
        """End the daemon, and only then this process."""
        self.daemon_ends(b"Aborted!\n")
        self.reactor.callLater(0, self.stop)

    def stop(self):
        """End this process."""
        self.reactor.stop()

    def listen(self):
        """Leave what a daemon that listens has left, whatever it logs."""
        self.addCleanup(self.place.data.claim().release)
        self.place.data.address.write_text("127.0.0.1:1\n")

    def test_daemon_dies(self):
        """Without its daemon it ends, and names the log; so it does with a bundle."""
        ended = partial(self.daemon_ends, b"")
        for bundle in (False, True):
            self.setUp()
            if bundle:
                self.place.bundle.parent.mkdir(parents=True)
                self.place.bundle.touch()
            with self.assertRaisesRegex(CommandError, "has ended; its log is"):
                self.show(self.listen, *[lambda: None] * 20, ended)
            self.assertEqual(self.serve.called, bundle)

    def daemon_ends(self, printed):
        """Let it print something, and end."""
        self.daemon.errReceived(printed)
        self.daemon.processEnded(Failure(ProcessDone(0)))

    def test_daemon_does_not_start(self):
        """A daemon that ends first is reported with what it printed."""
        ended = partial(self.daemon_ends, b"plugin-bridge: no\n")
        with self.assertRaisesRegex(CommandError, "did not start: plugin-bridge: no$"):
            self.show(ended)

    def test_ctrl_c_ends_the_daemon_first(self):
        """A terminal's Ctrl-C reaches both, and which of them ends first is chance."""
        # As on Windows, where a launcher may be the child.
        self.patch(opening, "PYTHON_IS_CHILD", False)
        self.daemon.transport.pid = 0
        self.place.bundle.parent.mkdir(parents=True)
        self.place.bundle.touch()
        self.show(self.listen, *[lambda: None] * 20, self.ctrl_c)
        self.serve.assert_called_once_with()

    def test_two_at_once(self):
        """The daemon of another that was faster is not taken for its own."""
        self.daemon.transport.pid += 1
        self.place.bundle.parent.mkdir(parents=True)
        self.place.bundle.touch()
        ended, nothing = partial(self.daemon_ends, b"in use"), [lambda: None] * 20
        self.show(self.listen, ended, *nothing, self.stop)
        self.serve.assert_called_once_with()

    def test_daemon_hangs(self):
        """A daemon that does not listen in time is given up, with its log's name."""
        self.patch(opening, "_START_SECONDS", 0.01)
        with self.assertRaisesRegex(CommandError, "within 0.01 s; its log is"):
            self.show()
