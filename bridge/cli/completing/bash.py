"""What bash completes command lines with."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings.host import host_commands
from ..catalogue import COMMANDS, PROGRAM
from .values import ARGUMENTS, Kind, Values, methods
from .words import all_words, words_of, words_of_command


def _values() -> Iterator[str]:
    """Yield the cases of the word before the current one."""
    groups: dict[Values, list[str]] = {}
    for word in all_words():
        if word.takes_value:
            groups.setdefault(word.values, []).append(word.name)
    for values, names in groups.items():
        yield f"    {'|'.join(sorted(names))}) {_action(values)}; return ;;"


def _action(values: Values) -> str:
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
    values = "\n".join(_values())
    arguments = "\n".join(
        f"        {name}) {_action(found)} ;;" for name, found in ARGUMENTS.items()
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
