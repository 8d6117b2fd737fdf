"""What fish completes command lines with."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings.host import host_commands
from ..catalogue import COMMANDS
from .values import ARGUMENTS, Kind, Values, methods
from .words import Word, quoted, words_of, words_of_command


def _value(word: Word) -> str:
    """Write what fish is to know of an option's value."""
    if not word.takes_value:
        return ""
    action = _action(word.values)
    return " -r" if action is None else f" -x -a {quoted(action)}"


def _action(values: Values) -> str | None:
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


def _arguments_of(name: str) -> Iterator[str]:
    """Yield the lines of a command's arguments."""
    values = ARGUMENTS.get(name)
    action = None if values is None else _action(values)
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
    yield f"complete -c plugin-bridge -f -n '{seen}' -a {quoted(action)}"


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
            f"-a {name} -d {quoted(about)}"
        )
        lines += [
            f"complete -c plugin-bridge -n '__fish_seen_subcommand_from {name}' "
            f"-l {word.name[2:]}{_value(word)} -d {quoted(word.about)}"
            for word in words_of(name)
        ]
        lines += _arguments_of(name)
    for program in host_commands():
        lines.append(f"complete -c {program} -w plugin-bridge")
        lines += [
            f"complete -c {program} -n __fish_use_subcommand "
            f"-l {word.name[2:]}{_value(word)} -d {quoted(word.about)}"
            for word in words_of_command(program)
        ]
    return "\n".join(lines) + "\n"
