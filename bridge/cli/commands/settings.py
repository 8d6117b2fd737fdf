"""The commands about the command itself: its options, and shells that complete it."""

from __future__ import annotations

import re
from typing import Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import get_completion_class

from ...settings.config import BY_NAME, ONE_SHOT, OPTIONS, config_path
from ...settings.host import Paths, host_commands
from ...settings.options import origin_of
from .. import COMPLETE_VARIABLE, PROGRAM
from ..command import command, json_option
from ..terminal import print_result

SHELLS: Final = ("bash", "zsh", "fish")

_FISH_VALUES: Final = """
function _plugin_bridge_values
    set -l option (string match --regex -- '^--[^=]+=' (commandline -ct); or echo)
    _plugin_bridge_completion | string replace --regex -- '^' $option
end
"""


@command(
    "config",
    "--host reference",
    status="Exit status: 0 done, 2 a value cannot be read; the line names it.",
    table=(option for option in OPTIONS if option.name not in ONE_SHOT),
)
@json_option
@click.pass_context
def config(ctx: click.Context, /, _: Paths, as_json: bool, **__: Any) -> None:
    """
    Print the value of each option of the daemon, and where it comes from: the command
    line, a variable, config.toml in your configuration directory, or the default.

    The lines have the form of config.toml.
    """
    values = {}
    for param in ctx.command.get_params(ctx):
        name = str(param.name).replace("_", "-")
        if name in BY_NAME:
            value = _plain(ctx.params[str(param.name)])
            values[name] = {"value": value, "origin": _origin(ctx, param)}
    path = config_path()
    head = f"# {path}" + ("" if path.exists() else " (does not exist)")
    lines = [head, *(_line(name, found) for name, found in values.items())]
    print_result(as_json, {"file": str(path), "options": values}, lines)


def _origin(ctx: click.Context, param: click.Parameter) -> str:
    source = ctx.get_parameter_source(str(param.name))
    if source is ParameterSource.DEFAULT_MAP:
        return "config.toml"
    return "default" if source is ParameterSource.DEFAULT else origin_of(ctx, param)


def _plain(value: Any) -> Any:
    """Return a value as plain JSON."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if not isinstance(value, (str, int, float, type(None))):
        return str(value)
    return value


def _line(name: str, found: dict[str, Any]) -> str:
    if found["value"] in (None, []):
        usual = BY_NAME[name].usual or "nothing"
        return f"# {name} is not set: {usual}"
    return f"{name} = {_toml(found['value'])}  # {found['origin']}"


def _toml(value: Any) -> str:
    """Write a value in ASCII, so that every terminal shows what the file has."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        # Not as JSON, which has two escapes for what is beyond the basic plane.
        text = re.sub(r"[^ !#-\[\]-~]", lambda c: f"\\U{ord(c[0]):08x}", value)
        return f'"{text}"'
    return str(value).lower()


@command("completion", "zsh > ~/.plugin-bridge.zsh", table=())
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
def completion(shell: str) -> None:
    """
    Print the completion script for a shell.

    Save it where the shell looks for completions, or have the shell's start file, such
    as ~/.zshrc, run it: source ~/.plugin-bridge.zsh
    """
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 (click has these three)
    source = kind(click.Command(PROGRAM), {}, PROGRAM, COMPLETE_VARIABLE).source()
    others = " ".join(host_commands())
    if shell == "bash":
        source += f"complete -o nosort -F _plugin_bridge_completion {others}\n"
    elif shell == "fish":
        action = '--arguments "(_plugin_bridge_completion)"'
        source += f"complete --no-files --command {others} {action}\n"
        # What is said of a command or an option may have commas.
        source = source.replace("(string split ", "(string split --max 1 ")
        # fish wants a value together with its option.
        source = source.replace(action, action.replace("_completion", "_values"))
        source += _FISH_VALUES
    else:
        # Without this, what is sourced before compinit would complete nothing.
        ready = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
        head, _, rest = source.partition("\n")
        rest = rest.replace(
            f"compdef _plugin_bridge_completion {PROGRAM}",
            f"compdef _plugin_bridge_completion {PROGRAM} {others}",
        )
        # Else a value would replace its option, too: compadd -U keeps no prefix.
        local = "    local -a response\n"
        split = "    [[ $PREFIX == --*=* ]] && compset -P 1 '*='\n"
        rest = rest.replace(local, local + split)
        rest = rest.replace("compadd -U ", 'compadd -U -i "$IPREFIX" ')
        source = f"{head} {others}\n{ready}{rest}"
    click.echo(source, nl=False)
