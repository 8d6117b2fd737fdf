"""``plugin-bridge completion``: what shells complete command lines with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from attrs import evolve, frozen
from twisted.python import usage

from ...protocol.text import visible
from ...settings.host import host_commands, load_profile
from ...settings.options import TableOptions
from ..catalogue import COMMANDS, PROGRAM, command_module
from ..completing.values import (
    ARGUMENTS,
    LISTED,
    Kind,
    Values,
    listed,
    methods,
    values_of,
)
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

    @property
    def values(self) -> Values:
        """What its value can be."""
        return values_of(self.name.removeprefix("--"))


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


def all_words() -> list[Word]:
    """List the options of all commands, each once."""
    lists = [words_of(name) for name in COMMANDS]
    lists += [words_of_command(name) for name in host_commands()]
    return list({word.name: word for words in lists for word in words}.values())


def _bash_values() -> Iterator[str]:
    """Yield the cases of the word before the current one."""
    groups: dict[Values, list[str]] = {}
    for word in all_words():
        if word.takes_value:
            groups.setdefault(word.values, []).append(word.name)
    for values, names in groups.items():
        yield f"    {'|'.join(sorted(names))}) {_bash_action(values)}; return ;;"


def _bash_action(values: Values) -> str:
    if values.kind is Kind.WORDS:
        return f"_plugin_bridge_among '{' '.join(values.words)}'"
    return {
        Kind.DIRECTORIES: "_plugin_bridge_directories",
        Kind.FILES: ":",  # by default
        Kind.NOTHING: "compopt +o default 2>/dev/null",
        Kind.SERVICES: "_plugin_bridge_call",
        Kind.PLUGINS: "_plugin_bridge_listed plugins",
        Kind.KEYS: "_plugin_bridge_listed keys",
    }[values.kind]


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
    valued = "|".join(word.name for word in all_words() if word.takes_value)
    values = "\n".join(_bash_values())
    arguments = "\n".join(
        f"        {name}) {_bash_action(found)} ;;" for name, found in ARGUMENTS.items()
    )
    calls = "\n".join(
        f"    {service}) _plugin_bridge_among '{' '.join(found)}' ;;"
        for service, found in methods().items()
    )
    return f"""\
# bash completion of plugin-bridge
_plugin_bridge_among() {{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}}
_plugin_bridge_directories() {{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
}}
_plugin_bridge_listed() {{
    _plugin_bridge_among "$("${{COMP_WORDS[0]}}" completion --list "$1" -- \
        "${{COMP_WORDS[@]}}" 2>/dev/null)"
}}
_plugin_bridge_call() {{
    local word skip='' service=''
    for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do
        if [ -n "$skip" ]; then
            [ "$word" = = ] || skip=''
            continue
        fi
        case $word in
        {valued}) skip=1 ;;
        -*) ;;
        *) service=${{service:-$word}} ;;
        esac
    done
    case $service in
    '') _plugin_bridge_among '{" ".join(methods())}' ;;
{calls}
    esac
}}
_plugin_bridge() {{
    local words more='' current=${{COMP_WORDS[COMP_CWORD]}} before=''
    COMPREPLY=()
    # bash makes a word of the equals sign.
    [ "$COMP_CWORD" -ge 2 ] && before=${{COMP_WORDS[COMP_CWORD - 1]}}
    if [ "$current" = = ]; then
        current=''
    elif [ "$before" = = ]; then
        before=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    case $before in
{values}
    esac
    case ${{COMP_WORDS[0]##*/}} in
{hosts}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{names} --help --version $more"
    elif [[ $current != -* ]]; then
        case ${{COMP_WORDS[1]}} in
{arguments}
        esac
        return 0
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        -*) words=$more ;;
        esac
    fi
    _plugin_bridge_among "$words"
}}
complete -o default -F _plugin_bridge {programs}
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _zsh_action(values: Values) -> str:
    if values.kind is Kind.WORDS:
        return f"({' '.join(values.words)})"
    return {
        Kind.DIRECTORIES: "_files -/",
        Kind.FILES: "_files",
        Kind.NOTHING: "",
        Kind.SERVICES: f"({' '.join(methods())})",
        # After a space the words are called as they are.
        Kind.PLUGINS: " _plugin_bridge_listed plugins",
        Kind.KEYS: " _plugin_bridge_listed keys",
    }[values.kind]


def _zsh_arguments(name: str) -> str:
    """Write the specifications of a command's arguments."""
    values = ARGUMENTS.get(name)
    if values is None:
        return ""
    if values.kind is Kind.SERVICES:
        method = _quoted("2:method: _plugin_bridge_method")
        return f" {_quoted(f'1:service:{_zsh_action(values)}')} {method}"
    return " " + _quoted(f"*:{values.kind.name.lower()}:{_zsh_action(values)}")


def zsh() -> str:
    """Write zsh's script."""

    def argument(word: Word) -> str:
        about = word.about.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
        value = f":value:{_zsh_action(word.values)}" * word.takes_value
        return _quoted(f"*{word.name}[{about}]{value}")

    names = "\n".join(
        f"        {_quoted(f'{name}:{about}')}" for name, (_, about) in COMMANDS.items()
    )
    cases = "\n".join(
        f"        {name}) _arguments "
        + " ".join(argument(word) for word in words_of(name))
        + _zsh_arguments(name)
        + " ;;"
        for name in COMMANDS
    )
    calls = "\n".join(
        f"    {service}) compadd -- {' '.join(found)} ;;"
        for service, found in methods().items()
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
_plugin_bridge_listed() {{
    local -a found asked
    asked=($line_so_far[1] completion --list $1 -- $line_so_far)
    found=(${{(f)"$($asked 2>/dev/null)"}})
    compadd -a found
}}
_plugin_bridge_method() {{
    # The service is the word before.
    case $words[CURRENT-1] in
{calls}
    esac
}}
_plugin_bridge() {{
    local -a line_so_far
    line_so_far=($words)
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


def _fish_value(word: Word) -> str:
    """Write what fish is to know of an option's value."""
    if not word.takes_value:
        return ""
    action = _fish_action(word.values)
    return " -r" if action is None else f" -x -a {_quoted(action)}"


def _fish_action(values: Values) -> str | None:
    """Return what prints the values; ``None`` for any file."""
    if values.kind is Kind.WORDS:
        return " ".join(values.words)
    return {
        Kind.DIRECTORIES: "(__fish_complete_directories (commandline -ct))",
        Kind.FILES: None,
        Kind.NOTHING: "",
        Kind.SERVICES: " ".join(methods()),
        Kind.PLUGINS: "(__plugin_bridge_listed plugins)",
        Kind.KEYS: "(__plugin_bridge_listed keys)",
    }[values.kind]


def _fish_arguments(name: str) -> Iterator[str]:
    """Yield the lines of a command's arguments."""
    values = ARGUMENTS.get(name)
    action = None if values is None else _fish_action(values)
    seen = f"__fish_seen_subcommand_from {name}"
    if values is None or action is None:
        return
    if values.kind is Kind.SERVICES:
        any_of = " ".join(methods())
        for service, found in methods().items():
            yield (
                f"complete -c plugin-bridge -f -n '{seen}; "
                f"and __fish_seen_subcommand_from {service}' -a '{' '.join(found)}'"
            )
        seen += f"; and not __fish_seen_subcommand_from {any_of}"
    yield f"complete -c plugin-bridge -f -n '{seen}' -a {_quoted(action)}"


def fish() -> str:
    """Write fish's script."""
    lines = [
        "# fish completion of plugin-bridge",
        "function __plugin_bridge_listed",
        "    set -l line (commandline -opc)",
        "    $line[1] completion --list $argv[1] -- $line 2>/dev/null",
        "end",
    ]
    for name, (_, about) in COMMANDS.items():
        lines.append(
            "complete -c plugin-bridge -n __fish_use_subcommand -f "
            f"-a {name} -d {_quoted(about)}"
        )
        lines += [
            f"complete -c plugin-bridge -n '__fish_seen_subcommand_from {name}' "
            f"-l {word.name[2:]}{_fish_value(word)} -d {_quoted(word.about)}"
            for word in words_of(name)
        ]
        lines += _fish_arguments(name)
    for program in host_commands():
        lines.append(f"complete -c {program} -w plugin-bridge")
        lines += [
            f"complete -c {program} -n __fish_use_subcommand "
            f"-l {word.name[2:]}{_fish_value(word)} -d {_quoted(word.about)}"
            for word in words_of_command(program)
        ]
    return "\n".join(lines) + "\n"


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
