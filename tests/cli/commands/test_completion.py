"""What the shells complete, in the shells themselves."""

import contextlib
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.main import COMMANDS, main
from bridge.settings.config import LOG_LEVELS, SHIPPED

from ...directories import fresh_directory
from ...npm import ROOT
from ...programs import program

PATIENCE_SECONDS = 60.0


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
finished() {{ print -r -- $BUFFER > {root}/line; : > {root}/done }}
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
    return program(name, name)


def script_for(name: str) -> str:
    """Print the script of a shell."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["completion", name], "plugin-bridge") == 0
    return printed.getvalue()


class CompletionTests(SynchronousTestCase):
    """Tests for the scripts, read by the shells themselves."""

    def setUp(self) -> None:
        """A data directory with two plugins, a directory, a file, and the programs."""
        self.root = fresh_directory(self)
        for name in DIRS:
            (self.root / name).mkdir(mode=0o700)
        (self.root / "file").touch()
        plugins: dict[str, object] = {"weather": {}, "wind": {}}
        state = {"bridge.plugins": plugins, "bridge.plugin-keys": {"abcd": {}}}
        (self.root / "data" / "state.json").write_text(json.dumps(state))
        for name in ("plugin-bridge", "vrcnext-bridge"):
            program = self.root / "bin" / name
            run = "import sys; from bridge.cli.main import main; sys.exit(main())"
            program.write_text(f"#!{sys.executable}\n{run}\n")
            program.chmod(0o700)

    def environment(self) -> dict[str, str]:
        """Return an environment with the program, and nothing of the user's."""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        more = {"PATH": path, "HOME": str(self.root), "TERM": "dumb"}
        return {**os.environ, **more, "PYTHONPATH": str(ROOT)}

    def in_bash(self, *words: str, program: str = "plugin-bridge") -> set[str]:
        """Complete a command line in bash, which has the equals sign as a word."""
        script = self.root / "script"
        script.write_text(script_for("bash"), "utf-8")
        line = " ".join(f"'{word}'" for word in (program, *words))
        done = subprocess.run(
            [
                shell("bash"),
                "-c",
                '. "$1"; compopt() { compgen -d -- "${COMP_WORDS[COMP_CWORD]}"; }; '
                f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
                f"_plugin_bridge_completion {program}; "
                'printf "%s\\n" "${COMPREPLY[@]}"',
                "bash",
                script,
            ],
            capture_output=True,
            text=True,
            check=True,
            env=self.environment(),
        )
        return set(done.stdout.split())

    def in_fish(self, *words: str, program: str = "plugin-bridge") -> set[str]:
        """Complete a command line in fish."""
        script = self.root / "script.fish"
        script.write_text(script_for("fish"), "utf-8")
        line = " ".join((program, *words))
        done = subprocess.run(
            [shell("fish"), "-N", "-c", f"source {script}; complete -C '{line}'"],
            capture_output=True,
            text=True,
            check=True,
            env=self.environment(),
        )
        found = dict(line.partition("\t")[::2] for line in done.stdout.splitlines())
        for command in found.keys() & COMMANDS:
            self.assertEqual(found[command], COMMANDS[command][1])
        return set(found)

    def in_zsh(
        self, *words: str, program: str = "plugin-bridge", sourced: str = ""
    ) -> set[str]:
        """
        Complete a command line in an interactive zsh.

        :param sourced: Whether the script is sourced ``before`` or ``after`` compinit,
            instead of found by it.
        """
        script = self.root / ("sourced" if sourced else "_plugin_bridge")
        script.write_text(script_for("zsh"), "utf-8")
        start = ZSH.format(root=self.root)
        source = f"source {script}\n"
        start = source + start if sourced == "before" else start
        start += source * (sourced == "after")
        (self.root / "rc").write_text(start, "utf-8")
        hits, done = self.root / "hits", self.root / "done"
        hits.unlink(missing_ok=True)
        done.unlink(missing_ok=True)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(shell("zsh"), ["zsh", "-fi"], self.environment())  # noqa: S606
        try:
            line = " ".join((program, *words))
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

    def test_bash(self) -> None:
        """The values of every kind, in bash."""
        self.assert_values(self.in_bash)
        complete = self.in_bash
        self.assertEqual(complete("set"), {"setup"})
        self.assertEqual(complete("logs", "--level", ""), set(LOG_LEVELS))
        self.assertEqual(complete("list", "--host", ""), set(SHIPPED))
        self.assertIn("freedesktop", complete("run", "--sink", "f"))
        self.assertIn("plugins/list", complete("call", "pl"))
        self.assertEqual(complete("completion", ""), {"bash", "zsh", "fish"})
        where = ("--host", "reference", "--data-dir", str(self.root / "data"))
        self.assertEqual(complete("disable", *where, "we"), {"weather"})
        equals = ("run", "--log", "=", "wa")
        self.assertEqual(self.in_bash(*equals), {"warn"})
        self.assertEqual(self.in_bash("run", "--log", "="), set(LOG_LEVELS))

    def test_bad_file(self) -> None:
        """A configuration file that can't be read does not end completion."""
        folder = self.root / ".config" / "plugin-bridge"
        folder.mkdir(mode=0o700, parents=True)
        (folder / "config.toml").write_text("rate = [")
        self.patch(os, "environ", {**os.environ, "XDG_CONFIG_HOME": ""})
        self.assertEqual(self.in_bash("run", "--log", "wa"), {"warn"})

    def test_zsh(self) -> None:
        """The values of every kind, in zsh."""
        self.assert_values(self.in_zsh)
        self.assertEqual(self.in_zsh("run", "--log=wa"), {"warn"})
        line = (self.root / "line").read_text("utf-8")
        self.assertEqual(line.strip(), "plugin-bridge run --log=warn")

    def test_zsh_sourced(self) -> None:
        """A script that is sourced completes, before and after ``compinit``."""
        for when in ("before", "after"):
            found = self.in_zsh("run", "--log", "wa", sourced=when)
            self.assertEqual(found, {"warn"}, when)

    def test_fish(self) -> None:
        """The values of every kind, in fish, which has an option with its value."""
        self.assert_values(self.in_fish)
        levels = {f"--log={level}" for level in LOG_LEVELS}
        self.assertEqual(self.in_fish("run", "--log="), levels)
        self.assertEqual(self.in_fish("run", "--log=wa"), {"--log=warn"})
        found = self.in_fish("run", f"--data-dir={self.root}/d")
        self.assertEqual(found, {f"--data-dir={self.root}/data/"})

    def assert_values(self, complete: Callable[..., set[str]]) -> None:
        """Complete commands, options, and values of every kind."""
        self.assertEqual(complete(""), set(COMMANDS))
        self.assertEqual(complete("check", "--un"), {"--unsigned"})
        self.assertEqual(complete("run", "--log", "wa"), {"warn"})
        self.assertEqual(complete("call", "state/g"), {"state/get"})
        found = complete("run", "--data-dir", f"{self.root}/")
        self.assertEqual({path.rstrip("/").rpartition("/")[2] for path in found}, DIRS)
        where = ("--host", "reference", "--data-dir", str(self.root / "data"))
        self.assertEqual(complete("update", *where, ""), {"weather", "wind"})
        self.assertEqual(complete("forget-key", *where, ""), {"abcd"})
        self.assertEqual(complete("run", "--rate", ""), set())
        # The command of a host: commands, and the options of run under both names.
        host = "vrcnext-bridge"
        self.assertEqual(complete("set", program=host), {"setup"})
        self.assertEqual(complete("--print", program=host), {"--print-token"})
        self.assertEqual(complete("--log", "wa", program=host), {"warn"})
        words = ("run", "--dev", "--wayvr")
        self.assertEqual(complete(*words, program=host), {"--wayvr-addr"})
