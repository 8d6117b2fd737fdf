"""Tests for bridge.cli.main and bridge.cli.commands.run."""

import contextlib
import io
import os
import subprocess
import sys
from typing import Any
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.catalogue import COMMANDS, HOSTLESS
from bridge.cli.commands import run
from bridge.cli.completing.words import options_class
from bridge.cli.main import main
from bridge.tap import Options


class Outcomes(SynchronousTestCase):
    """Runs the command."""

    def outcome(self, *arguments, program=None):
        """Run the command: its status, and what it prints."""
        printed = io.StringIO()
        status: Any = None
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            try:
                status = main(list(arguments), program)
            except SystemExit as e:
                status = e.code
        return status, printed.getvalue()


_COUNT = """
import contextlib, io, sys
from bridge.cli.main import main
silent = io.StringIO()
with contextlib.redirect_stderr(silent), contextlib.redirect_stdout(silent):
    assert main(sys.argv[1:]) == 3
print(sum(name.split(".")[0] == "bridge" for name in sys.modules))
"""


class MainTests(Outcomes):
    """Tests for the command."""

    def test_help(self):
        """``--help`` lists every sub-command; so does no command, as an error."""
        status, text = self.outcome("--help")
        self.assertEqual(status, 0)
        for name in COMMANDS:
            self.assertIn(f"  {name} ", text)
        self.assertEqual(self.outcome(), (2, text))

    def test_each_has_help(self):
        """Each sub-command prints its options and ends with 0."""
        for name in COMMANDS:
            if name != "run":  # which is twistd
                status, text = self.outcome(name, "--help")
                self.assertEqual(status, 0, text)
                self.assertIn(f"plugin-bridge {name}", text)

    def test_help_on_one(self):
        """``help COMMAND`` prints the options of one."""
        self.assertEqual(self.outcome("help", "setup"), self.outcome("setup", "--help"))
        self.assertEqual(self.outcome("help")[0], 0)

    def test_imports(self):
        """What asks the daemon imports little more than that takes."""
        for command in (["list"], ["install", "https://forge.example/x"], ["status"]):
            with self.subTest(command=command[0]):
                counted = subprocess.run(
                    [
                        *(sys.executable, "-c", _COUNT),
                        *(*command, "--host=reference", f"--data-dir={self.mktemp()}"),
                    ],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                self.assertLessEqual(int(counted.stdout), 60)

    def test_version(self):
        """``--version`` prints it."""
        status, text = self.outcome("--version")
        self.assertEqual(status, 0)
        self.assertTrue(text.startswith("plugin-bridge "))

    def test_usage_errors(self):
        """What is no command, or has wrong options, ends with status 2."""
        for arguments in (
            ["nonsense"],
            ["setup", "--nonsense"],
            ["setup", "--host=/nowhere"],
            ["setup", "--data-dir="],
        ):
            status, text = self.outcome(*arguments)
            self.assertEqual(status, 2, text)
            why, *usage = text.splitlines()
            self.assertTrue(why.startswith("plugin-bridge: "))
            self.assertTrue(all(line.startswith("Usage: ") for line in usage), usage)

    def test_nearest(self):
        """A command or option that is almost right is answered with the right one."""
        self.assertIn("did you mean install?", self.outcome("instal")[1])
        self.assertNotIn("did you mean", self.outcome("xyzzy")[1])
        text = self.outcome("list", "--jsn")[1]
        self.assertIn("did you mean --json?", text)
        # A value that is missing is no unknown option.
        self.assertNotIn("did you mean", self.outcome("list", "--host")[1])

    def test_interrupted(self):
        """Ctrl-C ends any of them with 130, and no traceback."""
        with mock.patch(
            "bridge.cli.commands.authors.verify.verify", side_effect=KeyboardInterrupt
        ):
            self.assertEqual(self.outcome("verify", "."), (130, "\n"))

    def test_output_takes_no_more(self):
        """A full disk is reported in a line; a reader that has gone is no news."""
        for output, status, printed in (
            ("/dev/full", 1, b"plugin-bridge: No space left on device\n"),
            (None, 1, b""),
        ):
            for command in (["--help"], ["completion", "fish"]):
                with self.writer(output) as stdout:
                    done = subprocess.run(
                        [sys.executable, "-m", "bridge", *command],
                        stdout=stdout,
                        stderr=subprocess.PIPE,
                        check=False,
                    )
                self.assertEqual((done.returncode, done.stderr), (status, printed))

    @contextlib.contextmanager
    def writer(self, path):
        """Open what to write to; without a path, a pipe whose reader has gone."""
        if path is None:
            reader, writer = os.pipe()
            os.close(reader)
        else:
            writer = os.open(path, os.O_WRONLY)
        with os.fdopen(writer, "wb") as file:
            yield file

    def test_run_is_twistd(self):
        """``run`` hands its options to ``twistd -n bridge``."""
        lines = []
        self.patch(run.app, "run", lambda *_: lines.append(sys.argv))
        self.patch(sys, "argv", [])
        self.assertEqual(run.main(["--dev"]), 0)
        self.assertEqual(
            lines, [["twistd", "--nodaemon", "--pidfile=", "bridge", "--dev"]]
        )

    def test_run_finds_the_daemon(self):
        """Of twistd's plugins, only the daemon's is loaded."""
        options = run.DaemonServerOptions()
        ((name, _, make, _),) = options.subCommands
        self.assertEqual((name, list(options.loadedPlugins)), ("bridge", ["bridge"]))
        self.assertIsInstance(make(), Options)


class HostCommandTests(Outcomes):
    """Tests for the command of a host, which is the same with ``--host``."""

    def ran(self, *arguments, program="vrcnext-bridge"):
        """Run it without its modules; return which was called, with what."""
        calls = []

        def imported(name):
            return mock.Mock(main=lambda given: calls.append((name, given)))

        with mock.patch("bridge.cli.main.command_module", imported):
            main(list(arguments), program)
        return calls[0]

    def test_options_go_to_run(self):
        """Options without a command, and nothing at all, are those of ``run``."""
        for given in ([], ["--print-token"], ["--listen", "127.0.0.1:1", "--dev"]):
            for line in (given, ["run", *given]):
                self.assertEqual(self.ran(*line), ("run", ["--host=vrcnext", *given]))

    def test_commands(self):
        """A command gets the host, which a ``--host`` that follows replaces."""
        self.assertEqual(
            self.ran("doctor", "--json"), ("doctor", ["--host=vrcnext", "--json"])
        )
        self.assertEqual(self.ran("keygen", "-o", "f"), ("keygen", ["-o", "f"]))
        self.assertEqual(self.ran("help", "doctor"), ("doctor", ["--help"]))
        self.assertEqual(self.ran("doctor", program="plugin-bridge"), ("doctor", []))

    def test_who_takes_a_host(self):
        """Every command has ``--host``, except those that are listed."""
        without = {
            name for name in COMMANDS if "host=" not in options_class(name)().longOpt
        }
        self.assertEqual(without, HOSTLESS)

    def test_general(self):
        """``--help`` names the command and its host; a word that is none is refused."""
        status, text = self.outcome("--help", program="vrcnext-bridge")
        self.assertEqual(status, 0)
        self.assertIn("Usage: vrcnext-bridge COMMAND", text)
        self.assertIn("plugin-bridge --host vrcnext", text)
        for given in (["-h"], ["help"]):
            self.assertEqual(self.outcome(*given, program="vrcnext-bridge"), (0, text))
        self.assertEqual(
            self.outcome("--version", program="vrcnext-bridge"),
            self.outcome("--version"),
        )
        self.assertEqual(self.outcome("nonsense", program="vrcnext-bridge")[0], 2)
