"""``plugin-bridge completion``: what shells complete command lines with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ClassVar

from twisted.python import usage

from ...protocol.text import visible
from ...settings.options import TableOptions
from ..completing.bash import bash
from ..completing.fish import fish
from ..completing.values import LISTED, listed
from ..completing.zsh import zsh
from ..terminal import print_line


class CompletionOptions(TableOptions):
    """The command line of ``plugin-bridge completion``."""

    synopsis = "Usage: plugin-bridge completion bash|zsh|fish"
    longdesc = (
        "Prints the completion script for a shell. Save it where the shell looks for "
        "completions, for bash: "
        "~/.local/share/bash-completion/completions/plugin-bridge"
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["list", None, None, "for the scripts: print the ids of plugins, or of keys"]
    ]

    def parseArgs(self, *words: str) -> None:
        """Accept the shell's name; with ``--list``, a command line."""
        self["words"] = list(words)
        if self["list"] is not None:
            if self["list"] not in LISTED:
                raise usage.UsageError("--list must be plugins or keys")
        elif len(words) != 1 or words[0] not in SCRIPTS:
            raise usage.UsageError("the shell must be bash, zsh or fish")


SCRIPTS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""Writes the script, by the shell's name."""


def main(arguments: list[str]) -> int:
    """Print a completion script and return the exit status."""
    options = CompletionOptions()
    options.parseOptions(arguments)
    words = options["words"]
    if options["list"]:
        for name in listed(options["list"], words):
            print_line(visible(name))
        return 0
    sys.stdout.write(SCRIPTS[words[0]]())
    return 0
