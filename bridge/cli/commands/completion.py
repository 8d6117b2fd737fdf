"""``plugin-bridge completion``: what shells complete command lines with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from attrs import evolve, frozen
from twisted.python import usage

from ...settings.host import host_commands, load_profile
from ...settings.options import TableOptions
from ..catalogue import COMMANDS, PROGRAM, command_module


class CompletionOptions(TableOptions):
    """The command line of ``plugin-bridge completion``."""

    synopsis = "Usage: plugin-bridge completion bash|zsh|fish"
    longdesc = (
        "Prints the completion script for a shell. Save it where the shell looks for "
        "completions, for bash: "
        "~/.local/share/bash-completion/completions/plugin-bridge"
    )

    def parseArgs(  # type: ignore[override]
        self, shell: str
    ) -> None:
        """Accept the shell's name."""
        if shell not in SCRIPTS:
            raise usage.UsageError("the shell must be bash, zsh or fish")
        self["shell"] = shell


@frozen
class Word:
    """
    One option of a command.

    :ivar name: With its dashes.
    :ivar takes_value: Whether a value follows.
    :ivar about: One line.
    """

    name: str
    takes_value: bool
    about: str


def options_class(name: str) -> type[usage.Options]:
    """Find the class that reads the command line of a sub-command."""
    if name == "run":
        from ...tap import Options

        return Options
    module = command_module(name)
    [found] = (
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, usage.Options)
        and kind.__module__ == module.__name__
    )
    return found


def words_of(name: str) -> list[Word]:
    """List the options of a sub-command."""
    options = options_class(name)()
    return [
        Word(f"--{text.rstrip('=')}", text.endswith("="), _about(options.docs, text))
        for text in sorted(options.longOpt)
    ]


def words_of_command(command_name: str) -> list[Word]:
    """List the options of a host's own command: those of ``run``, and its flags."""
    words = words_of("run")
    flags = load_profile(host_commands()[command_name]).names.flags
    own = {word.name: word for word in words}
    added = [evolve(own[f"--{to}"], name=f"--{flag}") for flag, to in flags.items()]
    return [*words, *added]


def _about(docs: Mapping[str, str | None], text: str) -> str:
    return " ".join((docs.get(text.rstrip("=")) or "").split())


def bash() -> str:
    """Write bash's script."""
    cases = "\n".join(
        f"        {name}) words='{' '.join(word.name for word in words_of(name))}' ;;"
        for name in COMMANDS
    )
    names = " ".join(COMMANDS)
    programs = " ".join((PROGRAM, *host_commands()))
    hosts = "\n".join(
        f"        {name}) more='{' '.join(w.name for w in words_of_command(name))}' ;;"
        for name in host_commands()
    )
    return f"""\
# bash completion of plugin-bridge
_plugin_bridge() {{
    local words more='' current=${{COMP_WORDS[COMP_CWORD]}}
    COMPREPLY=()
    case ${{COMP_WORDS[0]##*/}} in
{hosts}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{names} --help --version $more"
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        -*) words=$more ;;
        esac
        # The values of options, and arguments, are names of files.
        [[ $current == -* ]] || return 0
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _plugin_bridge {programs}
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def zsh() -> str:
    """Write zsh's script."""

    def argument(word: Word) -> str:
        about = word.about.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
        return _quoted(f"*{word.name}[{about}]{':value:_files' * word.takes_value}")

    names = "\n".join(
        f"        {_quoted(f'{name}:{about}')}" for name, (_, about) in COMMANDS.items()
    )
    cases = "\n".join(
        f"        {name}) _arguments "
        + " ".join(argument(word) for word in words_of(name))
        + " '*:file:_files' ;;"
        for name in COMMANDS
    )
    programs = " ".join((PROGRAM, *host_commands()))
    hosts = "\n".join(
        f"        {name}) _arguments "
        + " ".join(argument(word) for word in words_of_command(name))
        + " ;;"
        for name in host_commands()
    )
    return f"""\
#compdef {programs}
_plugin_bridge() {{
    if [[ $words[2] == -* ]]; then
        case ${{words[1]:t}} in
{hosts}
        esac
        return
    fi
    local -a commands
    commands=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local name=$words[2]
    shift words
    (( CURRENT-- ))
    case $name in
{cases}
    esac
}}
_plugin_bridge "$@"
"""


def fish() -> str:
    """Write fish's script."""
    lines = ["# fish completion of plugin-bridge"]
    for name, (_, about) in COMMANDS.items():
        lines.append(
            "complete -c plugin-bridge -n __fish_use_subcommand -f "
            f"-a {name} -d {_quoted(about)}"
        )
        lines += [
            f"complete -c plugin-bridge -n '__fish_seen_subcommand_from {name}' "
            f"-l {word.name[2:]}{' -r' * word.takes_value} -d {_quoted(word.about)}"
            for word in words_of(name)
        ]
    for program in host_commands():
        lines.append(f"complete -c {program} -w plugin-bridge")
        lines += [
            f"complete -c {program} -n __fish_use_subcommand "
            f"-l {word.name[2:]}{' -r' * word.takes_value} -d {_quoted(word.about)}"
            for word in words_of_command(program)
        ]
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""Writes the script, by the shell's name."""


def main(arguments: list[str]) -> int:
    """Print a completion script and return the exit status."""
    options = CompletionOptions()
    options.parseOptions(arguments)
    sys.stdout.write(SCRIPTS[options["shell"]]())
    return 0
