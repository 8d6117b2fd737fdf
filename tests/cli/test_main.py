"""Tests for bridge.cli.main and bridge.cli.commands.run."""

import configparser
import errno
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import click

import bridge
from bridge.cli.commands import run
from bridge.cli.main import COMMANDS, SECTIONS, find, main
from bridge.tap import Options

from ..directories import fresh_directory
from ..programs import python
from .commandcase import CommandTestCase

_COUNT = """
import contextlib, io, sys
from bridge.cli.main import main
silent = io.StringIO()
with contextlib.redirect_stderr(silent), contextlib.redirect_stdout(silent):
    assert main(sys.argv[1:]) == 3
print(sum(name.split(".")[0] == "bridge" for name in sys.modules))
"""


class MainTests(CommandTestCase):
    def test_help(self):
        """``--help`` lists every command in its section; so does no command at all."""
        text = self.done(self.run_main("--help"))
        for title, section in SECTIONS.items():
            listed = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
            names = [line.split()[0] for line in listed.splitlines()]
            self.assertEqual(names, list(section))
        for given in (["help"], ["-h"]):
            self.assertEqual(self.run_main(*given), (0, text, ""))
        self.assertEqual(self.run_main(), (2, text, ""))
        listing = self.run_main("list", "--help")
        self.assertEqual(self.run_main("help", "list"), listing)

    def test_each_has_help(self):
        """Each prints its options and an example, in any width, and ends with 0."""
        for columns in ("80", "60"):
            for name in (*COMMANDS, ""):
                words = [name, "--help"] if name else ["--help"]
                with mock.patch.dict(os.environ, {"COLUMNS": columns}):
                    text = self.done(self.run_main(*words))
                self.assertTrue(text.startswith("Usage: plugin-bridge "))
                self.assertIn("Exit status: 0", text)
                if name:
                    self.assertIn(f"Example:\n    plugin-bridge {name}", text)
                long = [t for t in text.splitlines() if len(t) > int(columns)]
                self.assertEqual(long, [], name)

    def test_imports(self):
        """What asks the daemon imports little more than that takes."""
        data = fresh_directory(self)
        for command in (["list"], ["install", "https://forge.example/x"], ["status"]):
            where = "--host=reference", f"--data-dir={data}"
            counted = python("-c", _COUNT, *command, *where)
            self.assertLessEqual(int(counted.stdout), 50, command)

    def test_usage_errors(self):
        """What is no command, or has wrong options, ends with status 2, in one line."""
        for arguments in (
            ["nonsense"],
            ["setup", "--host=/nowhere"],
            ["setup", "--data-dir="],
            ["list", "--host"],
            ["install"],
            ["update", "--all", "id"],
            ["check", "/nowhere"],
            ["check", __file__],
            ["new", __file__],
            ["completion"],
        ):
            err = self.failed(self.run_main(*arguments), 2)
            self.assertRegex(err, r"^plugin-bridge: .*\n$")

    def test_nearest(self):
        """A command or option that is almost right is answered with the right one."""
        for words, hint in (
            (["instal"], r"did you mean install\?; see plugin-bridge --help\n"),
            (["list", "--jsn"], "[Dd]id you mean '?--json'?\\?"),
        ):
            self.assertRegex(self.run_main(*words)[2], hint)
        self.assertNotIn("did you mean", self.run_main("xyzzy")[2])

    def test_interrupted(self):
        """Ctrl-C ends any of them with 130, and no traceback."""
        with mock.patch(
            "bridge.cli.authoring.worktree.published_tree",
            side_effect=KeyboardInterrupt,
        ):
            self.assertEqual(self.run_main("verify", "."), (130, "", "\n"))

    def test_interrupted_while_imported(self):
        """So does Ctrl-C before the command is there, however it is started."""
        stop = "import sys\nclass Stop:\n def find_spec(self, name, *_):\n"
        stop += "  if name == 'click': raise KeyboardInterrupt\n"
        stop += "sys.meta_path.insert(0, Stop())\n"
        entry = "from bridge.__main__ import main; sys.exit(main())"
        module = "import runpy; runpy.run_module('bridge', run_name='__main__')"
        for start in (entry, module):
            done = python("-c", stop + start)
            self.assertEqual((done.returncode, done.stderr), (130, "\n"), start)
        setup = configparser.ConfigParser()
        setup.read(Path(bridge.__file__).parent.with_name("setup.cfg"))
        scripts = setup["options.entry_points"]["console_scripts"].split("\n")
        entries = [line.partition(" = ")[2] for line in scripts if " = " in line]
        self.assertEqual(set(entries), {"bridge.__main__:main"})

    def test_output_takes_no_more(self):
        """A full disk is reported in a line; a reader that has gone is no news."""
        reader, gone = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, gone)
        full = self.enterContext(open("/dev/full", "wb"))
        for output, printed in (
            (full, b"plugin-bridge: No space left on device\n"),
            (gone, b""),
        ):
            for command in (["--help"], ["completion", "fish"]):
                done = subprocess.run(
                    [sys.executable, "-m", "bridge", *command],
                    stdout=output,
                    stderr=subprocess.PIPE,
                    check=False,
                )
                self.assertEqual((done.returncode, done.stderr), (1, printed))

    def test_closed_output(self):
        """Where an output is closed, what would be printed there is lost, no more."""
        for shell in ('exec "$@" >&-', 'exec "$@" 2>&-', 'exec "$@" <&- >&- 2>&-'):
            for program in (
                [sys.executable, "-m", "bridge", "run"],
                ["twistd", "bridge"],
            ):
                given = ["sh", "-c", shell, "sh", *program, "--print-token=wrong"]
                done = subprocess.run(given, capture_output=True, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertNotIn(b"Traceback", done.stdout + done.stderr)

    def test_umask(self):
        """None takes a right from the owner of what is written."""
        self.addCleanup(os.umask, os.umask(0o757))
        self.run_main("--version")
        self.assertEqual(os.umask(0), 0o057)

    def test_without_a_working_directory(self):
        """A path that is relative to one that is gone is refused in a line."""
        gone = fresh_directory(self) / "gone"
        shell = f'mkdir {gone}; cd {gone}; rmdir {gone}; exec "$@"'
        for given in (["status", "--data-dir=x"], ["new", "x"]):
            line = ["sh", "-c", shell, "sh", sys.executable, "-m", "bridge", *given]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done)
            self.assertIn("working directory", done.stderr)
        full = FileNotFoundError(errno.ENOENT, "No usable temporary directory found")
        with mock.patch("tempfile.gettempdir", side_effect=full):
            status, _, err = self.run_main("check", "--host=reference", ".")
        self.assertEqual((status, err), (1, f"plugin-bridge: {full.strerror}\n"))

    def test_narrow_encoding(self):
        """What the encoding lacks is a question mark; each line is there at once."""
        raw = io.BytesIO()
        narrow = io.TextIOWrapper(raw, "ascii")
        text = "é漢x\n"
        with (
            mock.patch("bridge.cli.main._run", lambda *_: narrow.write(text)),
            mock.patch("sys.stdout", narrow),
        ):
            main([], "plugin-bridge")
            self.assertEqual(raw.getvalue(), b"??x\n")

    def test_run_is_twistd(self):
        """``run`` hands its options to ``twistd -n bridge``, parsed."""
        lines = []
        self.patch(run.app, "run", lambda *given: lines.append((sys.argv, given)))
        self.patch(sys, "argv", ["plugin-bridge"])
        self.assertEqual(self.run_main("run", "--dev"), (0, "", ""))
        ((words, (_, make)),) = lines
        self.assertEqual(words, ["twistd", "--nodaemon", "bridge"])
        of_twistd = make()
        self.assertEqual(of_twistd["pidfile"], "")
        ((name, _, loaded, _),) = of_twistd.subCommands
        options = loaded()
        options.parseOptions([])
        self.assertEqual(name, "bridge")
        self.assertIsInstance(options, Options)
        self.assertIs(options.config.dev, True)


class HostCommandTests(CommandTestCase):
    """Tests for the command of a host, which is the same with ``--host``."""

    def parameters(self, *arguments, program="vrcnext-bridge"):
        """Run it without its commands; return which was called, with what."""
        calls = []

        def invoke(command, context):
            calls.append((command.name, context.params))
            return 0

        with mock.patch("bridge.settings.options.TableCommand.invoke", invoke):
            self.assertEqual(self.run_main(*arguments, program=program), (0, "", ""))
        return calls[0]

    def test_options_go_to_run(self):
        """Options without a command, and nothing at all, are those of ``run``."""
        for given in ([], ["--print-token"], ["--listen", "127.0.0.1:1", "--dev"]):
            for line in (given, ["run", *given]):
                name, params = self.parameters(*line)
                self.assertEqual((name, params["host"]), ("run", "vrcnext"))
                self.assertIs(params["dev"], "--dev" in given)

    def test_hosts(self):
        """It wins over a variable, and a ``--host`` that follows over it."""
        with mock.patch.dict(os.environ, {"BRIDGE_HOST": "reference"}):
            for words, program, host in (
                (["run"], "vrcnext-bridge", "vrcnext"),
                (["run", "--host=reference"], "vrcnext-bridge", "reference"),
                (["run"], "plugin-bridge", "reference"),
            ):
                _, params = self.parameters(*words, program=program)
                self.assertEqual(params["host"], host)

    def test_who_takes_a_host(self):
        """Every command has ``--host``, except those that concern none."""
        for name in COMMANDS:
            made = find(name)
            names = {param.name for param in made.get_params(click.Context(made))}
            without = name in ("completion", "demo", "keygen")
            self.assertEqual("host" in names, not without, name)

    def test_general(self):
        """``--help`` names the command and its host; a word that is none is refused."""
        text = self.done(self.run_main("--help", program="vrcnext-bridge"))
        self.assertIn("Usage: vrcnext-bridge COMMAND", text)
        self.assertIn("plugin-bridge --host vrcnext", text)
        for given in (["-h"], ["help"]):
            self.assertEqual(self.run_main(*given, program="vrcnext-bridge")[1], text)
        self.assertEqual(
            self.run_main("--version", program="vrcnext-bridge"),
            self.run_main("--version"),
        )
        self.assertEqual(self.run_main("nonsense", program="vrcnext-bridge")[0], 2)
