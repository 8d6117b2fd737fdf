"""Tests for bridge.cli.commands.completion."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.catalogue import COMMANDS
from bridge.cli.commands import completion

from ...directories import fresh_directory

PACKAGES = {"bash": "bash", "zsh": "zsh", "fish": "fish"}


def shell(name: str) -> str:
    """Find a shell."""
    path = shutil.which(name)
    if path is None:
        raise AssertionError(f"run: apt-get install {PACKAGES[name]}")
    return path


class CompletionTests(SynchronousTestCase):
    """Tests for the scripts, read by the shells themselves."""

    def completed(self, *words: str, program: str = "plugin-bridge") -> set[str]:
        """Complete a command line in bash."""
        script = fresh_directory(self) / "script"
        script.write_text(completion.bash(), "utf-8")
        line = " ".join(f"'{word}'" for word in (program, *words))
        done = subprocess.run(
            [
                shell("bash"),
                "-c",
                f'. "$1"; COMP_WORDS=({line}); COMP_CWORD={len(words)}; '
                'words=unset; _plugin_bridge; printf "%s\\n" "${COMPREPLY[@]}"',
                "bash",
                script,
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return set(done.stdout.split())

    def test_commands(self) -> None:
        """The first word is a command."""
        self.assertEqual(self.completed(""), {*COMMANDS, "--help", "--version"})
        self.assertEqual(self.completed("set"), {"setup"})

    def test_options(self) -> None:
        """The others are options of that command."""
        self.assertIn("--data-dir", self.completed("run", "--da"))
        self.assertEqual(self.completed("check", "--un"), {"--unsigned"})
        self.assertEqual(self.completed("check", "pl"), set())

    def test_command_of_a_host(self) -> None:
        """After it come commands, and the options of run under both names."""
        program = "/usr/bin/vrcnext-bridge"
        self.assertEqual(self.completed("set", program=program), {"setup"})
        self.assertEqual(self.completed("--print", program=program), {"--print-token"})
        words = ("--dev", "--wayvr")
        self.assertEqual(self.completed(*words, program=program), {"--wayvr-addr"})
        self.assertEqual(self.completed("--wayvr"), set())
        for script in completion.SCRIPTS.values():
            self.assertIn("vrcnext-bridge", script())
            self.assertIn("wayvr-addr", script())

    def test_every_shell_reads_its_script(self) -> None:
        """No shell finds a fault in the syntax."""
        directory = fresh_directory(self)
        for name, flag in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            script = directory / name
            script.write_text(completion.SCRIPTS[name](), "utf-8")
            done = subprocess.run(
                [shell(name), flag, script], capture_output=True, text=True, check=False
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_every_option_is_there(self) -> None:
        """Each script names each command, and each option of it."""
        for script in completion.SCRIPTS.values():
            text = script()
            for name in COMMANDS:
                self.assertIn(name, text)
            for word in completion.words_of("run"):
                self.assertIn(word.name[2:], text)

    def test_usage(self) -> None:
        """Another shell is refused, and not named."""
        with self.assertRaises(SystemExit) as ended:
            completion.main(["tcsh"])
        self.assertEqual(ended.exception.code, 2)

    def test_printed(self) -> None:
        """The command prints the script."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(completion.main(["bash"]), 0)
        self.assertEqual(printed.getvalue(), completion.bash())
