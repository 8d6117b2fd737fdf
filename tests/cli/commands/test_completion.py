"""Tests for bridge.cli.commands.completion."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.catalogue import COMMANDS
from bridge.cli.commands import completion
from bridge.cli.completing.words import words_of
from bridge.settings.config import LOG_LEVELS
from bridge.settings.host import SHIPPED

from ...directories import fresh_directory
from ...npm import ROOT

PATIENCE_SECONDS = 60.0

PACKAGES = {"bash": "bash", "zsh": "zsh", "fish": "fish"}


DIRS = {"bin", "data"}

# zsh keeps what a completion adds to itself; so "compadd" reports it first.
ZSH = """
PS1=; autoload -Uz compinit; fpath=({root} $fpath); compinit -u -d {root}/dump
compadd() {{
    local -a hits
    [[ "$*" == *-[OAD]* ]] || builtin compadd -O hits "$@"
    (( $#hits )) && print -l -- $hits >> {root}/hits
    builtin compadd "$@"
}}
finished() {{ : > {root}/done }}
zle -N finished
bindkey '^I' complete-word
bindkey '^X' finished
: > {root}/ready
"""


def _until(terminal: int, path: Path) -> None:
    """Read what a terminal prints until a file is there."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} was not made"
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 65536)


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
            env=self.environment(),
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
        self.assertEqual(self.completed("check", "no-such"), set())

    def test_zsh(self) -> None:
        """The values of every kind, in zsh itself."""
        self.assert_values(self.in_zsh)

    def test_zsh_sourced(self) -> None:
        """So does a script that is sourced, after ``compinit``."""
        self.assertEqual(self.in_zsh("run", "--log", "wa", sourced=True), {"warn"})

    def test_zsh_sourced_too_early(self) -> None:
        """Before ``compinit`` it prints what is missing."""
        script = self.root / "script"
        script.write_text(completion.zsh(), "utf-8")
        done = subprocess.run(
            [shell("zsh"), "-fc", f"source {script}"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertIn("first run: autoload -Uz compinit", done.stderr)

    def test_fish(self) -> None:
        """The values of every kind, in fish itself."""
        self.assert_values(self.in_fish)

    def test_bash(self) -> None:
        """The values of every kind, in bash itself; the equals sign is a word."""
        self.assert_values(lambda *words: self.completed(*words, **self.started()))
        equals = ("run", "--log", "=", "wa")
        self.assertEqual(self.completed(*equals), {"warn"})
        self.assertEqual(self.completed("run", "--log", "="), set(LOG_LEVELS))

    def assert_values(self, complete: Callable[..., set[str]]) -> None:
        """Complete words, levels, directories, services, methods and plugin ids."""
        self.assertEqual(complete("run", "--log", "wa"), {"warn"})
        self.assertEqual(complete("logs", "--level", ""), set(LOG_LEVELS))
        self.assertEqual(complete("list", "--host", ""), set(SHIPPED))
        self.assertIn("freedesktop", complete("run", "--sink", "f"))
        self.assertIn("plugins", complete("call", "pl"))
        self.assertEqual(complete("call", "state", "g"), {"get"})
        self.assertEqual(complete("completion", ""), {"bash", "zsh", "fish"})
        found = complete("run", "--data-dir", f"{self.root}/")
        self.assertEqual({path.rstrip("/").rpartition("/")[2] for path in found}, DIRS)
        where = ("--host", "reference", "--data-dir", str(self.root / "data"))
        self.assertEqual(complete("update", *where, ""), {"weather", "wind"})
        self.assertEqual(complete("disable", *where, "we"), {"weather"})
        self.assertEqual(complete("forget-key", *where, ""), {"abcd"})
        self.assertEqual(complete("run", "--rate", ""), set())

    def setUp(self) -> None:
        """A data directory with two plugins, a directory, a file, and the program."""
        self.root = fresh_directory(self)
        for name in DIRS:
            (self.root / name).mkdir(mode=0o700)
        (self.root / "file").touch()
        plugins: dict[str, object] = {"weather": {}, "wind": {}}
        state = {"bridge.plugins": plugins, "bridge.plugin-keys": {"abcd": {}}}
        (self.root / "data" / "state.json").write_text(json.dumps(state))
        program = self.root / "bin" / "plugin-bridge"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bridge "$@"\n')
        program.chmod(0o700)

    def started(self) -> dict[str, str]:
        """Return the program, as it is typed."""
        return {"program": str(self.root / "bin" / "plugin-bridge")}

    def environment(self) -> dict[str, str]:
        """Return an environment with the program, and nothing of the user's."""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        more = {"PATH": path, "HOME": str(self.root), "TERM": "dumb"}
        return {**os.environ, **more, "PYTHONPATH": str(ROOT)}

    def in_fish(self, *words: str) -> set[str]:
        """Complete a command line in fish."""
        script = self.root / "script.fish"
        script.write_text(completion.fish(), "utf-8")
        line = " ".join(("plugin-bridge", *words))
        done = subprocess.run(
            [shell("fish"), "-N", "-c", f"source {script}; complete -C '{line}'"],
            capture_output=True,
            text=True,
            check=True,
            env=self.environment(),
        )
        return {found.partition("\t")[0] for found in done.stdout.splitlines()}

    def in_zsh(self, *words: str, sourced: bool = False) -> set[str]:
        """Complete a command line in an interactive zsh."""
        script = self.root / ("sourced" if sourced else "_plugin_bridge")
        script.write_text(completion.zsh(), "utf-8")
        start = ZSH.format(root=self.root) + f"source {script}\n" * sourced
        (self.root / "rc").write_text(start, "utf-8")
        hits, done = self.root / "hits", self.root / "done"
        hits.unlink(missing_ok=True)
        done.unlink(missing_ok=True)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(shell("zsh"), ["zsh", "-fi"], self.environment())  # noqa: S606
        try:
            line = " ".join(("plugin-bridge", *words))
            os.write(terminal, f"source {self.root}/rc\n".encode())
            _until(terminal, self.root / "ready")
            (self.root / "ready").unlink()
            os.write(terminal, f"{line}\t\x18".encode())
            _until(terminal, done)
        finally:
            os.close(terminal)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return set(hits.read_text().split()) if hits.exists() else set()

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
            for word in words_of("run"):
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
