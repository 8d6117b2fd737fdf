"""What zsh completes command lines with."""

from __future__ import annotations

from ...settings.host import host_commands
from ..catalogue import COMMANDS, PROGRAM
from .values import ARGUMENTS, Kind, Values, methods
from .words import Word, quoted, words_of, words_of_command


def _action(values: Values) -> str:
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


def _arguments_of(name: str) -> str:
    """Write the specifications of a command's arguments."""
    values = ARGUMENTS.get(name)
    if values is None:
        return ""
    if values.kind is Kind.SERVICES:
        method = quoted("2:method: _plugin_bridge_method")
        return f" {quoted(f'1:service:{_action(values)}')} {method}"
    return " " + quoted(f"*:{values.kind.name.lower()}:{_action(values)}")


def zsh() -> str:
    """Write zsh's script."""

    def argument(word: Word) -> str:
        about = word.about.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
        value = f":value:{_action(word.values)}" * word.takes_value
        return quoted(f"*{word.name}[{about}]{value}")

    names = "\n".join(
        f"        {quoted(f'{name}:{about}')}" for name, (_, about) in COMMANDS.items()
    )
    cases = "\n".join(
        f"        {name}) _arguments "
        + " ".join(argument(word) for word in words_of(name))
        + _arguments_of(name)
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
if (( ${{+compstate}} )); then
    # zsh has loaded it from a directory in $fpath, to complete a line.
    _plugin_bridge "$@"
elif (( ${{+functions[compdef]}} )); then
    compdef _plugin_bridge {programs}
else
    print -u2 'plugin-bridge: first run: autoload -Uz compinit && compinit'
fi
"""
