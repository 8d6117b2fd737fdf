"""What the shells complete, in the shells themselves."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bridge.cli.main import COMMANDS
from bridge.settings.config import LOG_LEVELS, SHIPPED

from ...npm import ROOT
from ...programs import program, run
from ..commandcase import CommandTestCase

PATIENCE_SECONDS = 60.0


DIRS = {"bin", "data"}

ZSH = Path(__file__).with_name("completion.zsh").read_text("ascii")


def _until(terminal: int, path: Path) -> None:
    """Read what a terminal prints until a file is there."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} was not made"
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 65536)


class CompletionTests(CommandTestCase):
    def setUp(self) -> None:
        """A data directory with two plugins, a directory, a file, and the programs."""
        super().setUp()
        for name in DIRS:
            (self.root / name).mkdir(mode=0o700)
        (self.root / "file").touch()
        plugins: dict[str, object] = {"weather": {}, "wind": {}}
        state = {"bridge.plugins": plugins, "bridge.plugin-keys": {"abcd": {}}}
        (self.root / "data" / "state.json").write_text(json.dumps(state))
        for name in ("plugin-bridge", "vrcnext-bridge"):
            path = self.root / "bin" / name
            run = "import sys; from bridge.cli.main import main; sys.exit(main())"
            path.write_text(f"#!{sys.executable}\n{run}\n")
            path.chmod(0o700)

    def environment(self) -> dict[str, str]:
        """Return an environment with the program, and nothing of the user's."""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        more = {"PATH": path, "HOME": str(self.root), "TERM": "dumb"}
        return {**os.environ, **more, "PYTHONPATH": str(ROOT)}

    def script(self, shell: str, name: str = "script") -> Path:
        """Write the script of a shell to a file of this name."""
        path = self.root / name
        path.write_text(self.done(self.run_main("completion", shell)), "utf-8")
        return path

    def printed(self, shell: str, *arguments: str) -> str:
        """Run a shell; return what it prints."""
        shell = program(shell, shell)
        return run(shell, *arguments, check=True, env=self.environment()).stdout

    def in_bash(self, *words: str, command: str = "plugin-bridge") -> set[str]:
        """Complete a command line in bash, which has the equals sign as a word."""
        line = " ".join(f"'{word}'" for word in (command, *words))
        complete = (
            '. "$1"; compopt() { compgen -d -- "${COMP_WORDS[COMP_CWORD]}"; }; '
            f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
            f"_plugin_bridge_completion {command}; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        script = str(self.script("bash"))
        return set(self.printed("bash", "-c", complete, "bash", script).split())

    def in_fish(self, *words: str, command: str = "plugin-bridge") -> set[str]:
        line = " ".join((command, *words))
        complete = f"source {self.script('fish')}; complete -C '{line}'"
        lines = self.printed("fish", "-N", "-c", complete).splitlines()
        found = dict(line.partition("\t")[::2] for line in lines)
        for name in found.keys() & COMMANDS:
            self.assertEqual(found[name], COMMANDS[name][1])
        return set(found)

    def in_zsh(self, *words, command="plugin-bridge", sourced=""):
        """
        Complete a command line in an interactive zsh.

        :param sourced: Whether the script is sourced ``before`` or ``after`` compinit,
            instead of found by it.
        """
        script = self.script("zsh", "sourced" if sourced else "_plugin_bridge")
        start = f"root={self.root}\n{ZSH}"
        source = f"source {script}\n"
        start = source + start if sourced == "before" else start
        start += source * (sourced == "after")
        (self.root / "rc").write_text(start, "utf-8")
        hits, done = self.root / "hits", self.root / "done"
        hits.unlink(missing_ok=True)
        done.unlink(missing_ok=True)
        terminal, its = os.openpty()
        shell = subprocess.Popen(
            [program("zsh", "zsh"), "-fi"],
            env=self.environment(),
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
        )
        os.close(its)
        try:
            line = " ".join((command, *words))
            os.write(terminal, f"source {self.root}/rc\n".encode())
            _until(terminal, self.root / "ready")
            (self.root / "ready").unlink()
            os.write(terminal, f"{line}\t\x18".encode())
            _until(terminal, done)
        finally:
            os.close(terminal)
            shell.kill()
            shell.wait()
        return set(hits.read_text().split()) if hits.exists() else set()

    def test_bash(self) -> None:
        """The values of every kind, and those of each command, in bash."""
        self.assert_values(self.in_bash)
        complete = self.in_bash
        self.assertEqual(complete("list", "--host", ""), set(SHIPPED))
        self.assertIn("freedesktop", complete("run", "--sink", "f"))
        self.assertEqual(complete("completion", ""), {"bash", "zsh", "fish"})
        self.assertEqual(complete("call", "state/g"), {"state/get"})
        where = ("--host", "reference", "--data-dir", str(self.root / "data"))
        self.assertEqual(complete("disable", *where, "we"), {"weather"})
        self.assertEqual(complete("update", *where, ""), {"weather", "wind"})
        self.assertEqual(complete("forget-key", *where, ""), {"abcd"})
        words = ("run", "--dev", "--wayvr")
        found = complete(*words, command="vrcnext-bridge")
        self.assertEqual(found, {"--wayvr-addr"})
        equals = ("run", "--log", "=", "wa")
        self.assertEqual(complete(*equals), {"warn"})
        self.assertEqual(complete("run", "--log", "="), set(LOG_LEVELS))

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
        """Complete commands, options, and values of the kinds that shells know."""
        self.assertEqual(complete(""), set(COMMANDS))
        self.assertEqual(complete("check", "--un"), {"--unsigned"})
        self.assertEqual(complete("run", "--log", "wa"), {"warn"})
        found = complete("run", "--data-dir", f"{self.root}/")
        self.assertEqual({path.rstrip("/").rpartition("/")[2] for path in found}, DIRS)
        self.assertEqual(complete("run", "--rate", ""), set())
        # The command of a host: commands, and the options of run.
        host = "vrcnext-bridge"
        self.assertEqual(complete("set", command=host), {"setup"})
        self.assertEqual(complete("--print", command=host), {"--print-token"})
